/**
 * Numbers as RFC 8785 writes them, which is how JavaScript does, except where that would lie.
 *
 * Invariant: a number that is written as an integer keeps its value, or is refused:
 * 9007199254740993 must not become its neighbour, because such numbers are ids.
 * 295147905179352830000 passes, being what RFC 8785 writes for 2^68. A number with a fraction or an
 * exponent is a measurement and rounds to the nearest double as RFC 8785 says, unless nothing is
 * left of it: 1e400 and 1e-400 are refused.
 *
 * Not here: the grammar of numbers; the reader has checked it.
 */

/** Decimals of so few digits always survive a double, so shorter numbers need no second look. */
const safeDigits = 15

export interface CanonicalNumber {
  readonly text: string
  /** Why the number cannot be kept, as the beginning of "…, at byte 17". */
  readonly problem?: string
}

/** `token` must be a number by the grammar of JSON. */
export function canonicalNumber(token: string): CanonicalNumber {
  const value = Number(token)
  const text = String(value) // also makes -0 a plain 0
  if (token.length <= safeDigits && !/[eE]/.test(token)) return { text }
  const problem = lossOf(token, value, text)
  return problem === undefined ? { text } : { text, problem }
}

function lossOf(token: string, value: number, text: string): string | undefined {
  if (!Number.isFinite(value)) return `the number ${shortened(token)} is too large for a double`
  if (/[.eE]/.test(token)) {
    const isLost = value === 0 && /^[-0.]*[1-9]/.test(token)
    return isLost ? `the number ${shortened(token)} is too small for a double` : undefined
  }
  if (integerDigits(text) === token) return undefined
  return (
    `the integer ${shortened(token)} does not fit a double and would become ${text} ` +
    `(write it as a string)`
  )
}

/** An integer as JavaScript writes it, without an exponent: 1.5e+21 is 1500000000000000000000. */
function integerDigits(text: string): string {
  const [mantissa = '', exponent] = text.split('e+')
  if (exponent === undefined) return text
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace('-', '').replace('.', '')
  return sign + digits.padEnd(Number(exponent) + 1, '0')
}

function shortened(token: string): string {
  return token.length > 40 ? `${token.slice(0, 40)}…` : token
}
