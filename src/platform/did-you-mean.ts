/** What somebody may have meant who typed a name that there is not. */

/** Names that `threshold` replaced, in every spelling: `similarityMin`, `--semantic-min`, `…_SIMILARITY_MIN`. */
const FORMER_THRESHOLD = /(?:similarity|cosine)[-_]?min$/i

function renamed(typed: string): string {
  if (typed === 'semantic-min') return 'semantic-threshold'
  return typed.replace(FORMER_THRESHOLD, (found) =>
    found === found.toUpperCase() ? 'THRESHOLD' : 'threshold',
  )
}

/**
 * The name that replaced what was typed, or the one that is the fewest slips of the finger away, if they are few for
 * its length. A dotted name also matches by its last part.
 */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const now = renamed(typed)
  const same = names.find((name) => name === now || name.endsWith(`.${now}`))
  if (same !== undefined) return same
  let best: string | undefined
  let slipsMin = Math.max(1, Math.floor(typed.length / 3)) + 1
  for (const name of names) {
    const slips = slipsBetween(typed, name)
    if (slips >= slipsMin) continue
    slipsMin = slips
    best = name
  }
  return best
}

/** Letters added, left out, mistaken, or swapped with the next one. */
function slipsBetween(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1] ? 0 : 1
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current.push(
        Math.min(
          at(last, column) + 1,
          at(current, column - 1) + 1,
          at(last, column - 1) + same,
          swapped ? at(beforeLast, column - 2) + 1 : Infinity,
        ),
      )
    }
    beforeLast = last
    last = current
  }
  return at(last, to.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity
}
