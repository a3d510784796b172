/**
 * Text that is shown on a terminal and is not ours: names of files, arguments, lines of input. Controls, and marks that
 * reorder a line, become signs that do nothing.
 */

const CONTROLS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** White space becomes one blank. */
export function harmless(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(CONTROLS, signOf)
}

/** Line feeds and tabs stay: for messages of several lines. */
export function harmlessLines(text: string): string {
  return text.replaceAll(CONTROLS, (control) =>
    control === '\n' || control === '\t' ? control : signOf(control),
  )
}

function signOf(control: string): string {
  const point = control.codePointAt(0) ?? 0
  if (point < 0x20) return String.fromCodePoint(0x2400 + point)
  return point === 0x7f ? '␡' : '\ufffd'
}
