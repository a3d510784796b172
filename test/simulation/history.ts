/**
 * Judges what clients were told. Every operation is an interval of steps; a get must have an explanation:
 * a put of that value that can have been the last to take effect, or, for a miss, something that can have
 * made the key absent.
 */

export interface Happening {
  readonly key: string
  readonly kind: 'put' | 'delete'
  readonly value?: string
  readonly start: number
  /** Infinity: its client crashed or was told of a failure, so it may take effect at any time, or never. */
  end: number
  /** World time from which on a put's value may be gone by itself; the receipt tells exactly. */
  expiresEarliest: number
  /** World time at which it is certainly gone. */
  expiresLatest: number
}

export interface Sighting {
  readonly key: string
  readonly value: string | undefined
  readonly start: number
  readonly end: number
  readonly timeAtStart: number
  readonly timeAtEnd: number
}

export class History {
  readonly #happenings: Happening[] = []
  readonly #isSame: (put: string | undefined, seen: string | undefined) => boolean

  /** `isSame`: whether a value that was put may be answered by the one that was seen. */
  constructor(isSame: (put?: string, seen?: string) => boolean = (put, seen) => put === seen) {
    this.#isSame = isSame
  }

  begin(happening: Omit<Happening, 'end'>): Happening {
    const begun = { ...happening, end: Infinity }
    this.#happenings.push(begun)
    return begun
  }

  judge(sighting: Sighting): void {
    const all = this.#happenings.filter(
      ({ key, start }) => key === sighting.key && start < sighting.end,
    )
    const isCovered = (from: number) =>
      all.some(({ start, end }) => start > from && end < sighting.start)
    if (sighting.value === undefined) this.#judgeMiss(sighting, all)
    else if (!all.some((one) => this.#explains(one, sighting) && !isCovered(one.end))) {
      throw new Error(`get(${sighting.key}) returned ${sighting.value}, which nothing explains`)
    }
  }

  #judgeMiss(sighting: Sighting, all: readonly Happening[]): void {
    const certainlyThere = (from: number) =>
      all.some(
        ({ kind, start, end, expiresEarliest }) =>
          kind === 'put' &&
          start > from &&
          end < sighting.start &&
          expiresEarliest > sighting.timeAtEnd,
      )
    const isAbsence = ({ kind, expiresEarliest }: Happening) =>
      kind === 'delete' || expiresEarliest <= sighting.timeAtEnd
    if (!certainlyThere(-1)) return
    if (all.some((one) => isAbsence(one) && !certainlyThere(one.end))) return
    throw new Error(`get(${sighting.key}) missed a key that was certainly there`)
  }

  #explains(one: Happening, { value, timeAtStart }: Sighting): boolean {
    return one.kind === 'put' && this.#isSame(one.value, value) && one.expiresLatest > timeAtStart
  }
}
