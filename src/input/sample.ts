/** How something that was rejected begins, safe to print in one line. */

const SAMPLE_CHARACTERS = 80
/** These are usual in texts; others look broken because they are. */
const ESCAPES: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' }

export function sampleOf(bytes: Uint8Array | string): string {
  const beginning =
    typeof bytes === 'string'
      ? bytes.slice(0, SAMPLE_CHARACTERS)
      : Buffer.from(bytes.subarray(0, SAMPLE_CHARACTERS * 4)).toString('utf8')
  return Array.from(beginning.toWellFormed())
    .slice(0, SAMPLE_CHARACTERS)
    .join('')
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => ESCAPES[character] ?? '\uFFFD')
}
