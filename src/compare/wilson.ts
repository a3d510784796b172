/** How far a share that was counted can be trusted: the score interval of Wilson, at 95 %. */

export interface Rate {
  /** `undefined` where nothing was counted. */
  readonly value: number | undefined
  /** The true share lies between `low` and `high` in 95 of 100 such counts. */
  readonly low: number
  readonly high: number
}

/** Of a normal distribution, 95 % lie within so many standard deviations. */
const Z = 1.959963984540054

export function rateOf(hits: number, of: number): Rate {
  return { value: of === 0 ? undefined : hits / of, ...wilson(hits, of) }
}

export function wilson(hits: number, of: number): { readonly low: number; readonly high: number } {
  if (of === 0) return { low: 0, high: 1 }
  const share = hits / of
  const square = (Z * Z) / of
  const centre = share + square / 2
  const spread = Z * Math.sqrt((share * (1 - share) + square / 4) / of)
  // At both ends the interval touches 0 and 1 exactly, which rounding would miss.
  return {
    low: hits === 0 ? 0 : (centre - spread) / (1 + square),
    high: hits === of ? 1 : (centre + spread) / (1 + square),
  }
}
