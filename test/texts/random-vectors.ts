/** Vectors of length 1 in random directions, and others at a given angle to them. */

type NextWord = () => number

function gaussian(next: NextWord): number {
  let sum = -6
  for (let count = 0; count < 12; count++) sum += next() / 2 ** 32
  return sum
}

export function unitVector(dimensions: number, next: NextWord): Float64Array {
  const vector = Float64Array.from({ length: dimensions }, () => gaussian(next))
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

/** At exactly this cosine to another of length 1. */
export function vectorAt(cosine: number, from: Float64Array, next: NextWord): Float64Array {
  const other = unitVector(from.length, next)
  const dot = other.reduce((sum, value, at) => sum + value * (from[at] ?? 0), 0)
  const across = other.map((value, at) => value - dot * (from[at] ?? 0))
  const length = Math.hypot(...across)
  const sine = Math.sqrt(1 - cosine * cosine)
  return across.map((value, at) => (value / length) * sine + cosine * (from[at] ?? 0))
}
