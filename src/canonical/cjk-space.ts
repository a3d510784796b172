/**
 * White space between marks and a Chinese or Japanese character, which writers of these scripts leave out and
 * programs that replace their marks add: `你好，世界` and `你好, 世界`.
 *
 * In a run of ASCII marks and spaces with at least one mark, spaces are removed where a character of these scripts
 * is before or behind the run. Removing them leaves a run of the same marks between the same characters, so doing it
 * twice changes nothing more.
 *
 * Not here: a space with no mark beside it, as between two names.
 */

const SPACE = 0x20

/** Han, kana and bopomofo; Korean is written with spaces. */
export function isUnspaced(codePoint: number): boolean {
  return (
    (codePoint >= 0x3040 && codePoint <= 0x312f) ||
    (codePoint >= 0x3400 && codePoint <= 0x9fff) ||
    (codePoint >= 0x3005 && codePoint <= 0x3007) ||
    (codePoint >= 0xf900 && codePoint <= 0xfaff) ||
    (codePoint >= 0x20000 && codePoint <= 0x3ffff)
  )
}

/** The same, for any character of a text. */
export const unspaced: RegExp =
  /[\u3005-\u3007\u3040-\u312f\u3400-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]/u

/** The bytes are UTF-8, with single spaces; they are changed in place. */
export function joinCjkMarks(bytes: Uint8Array): Uint8Array {
  const first = bytes.indexOf(SPACE)
  if (first < 0) return bytes
  let length = first
  let runEnd = 0
  let isJoined = false
  for (let at = first; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === SPACE) {
      if (at >= runEnd) {
        runEnd = endOfRun(bytes, at)
        isJoined = joins(bytes, length, at, runEnd)
      }
      if (isJoined) continue
    }
    bytes[length++] = byte
  }
  return bytes.subarray(0, length)
}

function endOfRun(bytes: Uint8Array, from: number): number {
  let end = from + 1
  while (isMarkOrSpace(bytes[end] ?? 0)) end++
  return end
}

/** A run goes on from its first space, at `space`, to `end`; what is before it is the text up to `length`. */
function joins(bytes: Uint8Array, length: number, space: number, end: number): boolean {
  let start = length
  while (start > 0 && isMarkOrSpace(bytes[start - 1] ?? 0)) start--
  const hasMark = start < length || end > space + 1
  return hasMark && (isUnspacedBefore(bytes, start) || isUnspacedAt(bytes, end))
}

/** ASCII but letters, digits and controls. */
function isMarkOrSpace(byte: number): boolean {
  if (byte < SPACE || byte >= 0x7f) return false
  const isDigit = byte >= 0x30 && byte <= 0x39
  const letter = byte | 0x20
  return !isDigit && !(letter >= 0x61 && letter <= 0x7a)
}

function isUnspacedBefore(bytes: Uint8Array, end: number): boolean {
  let start = end - 1
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--
  return start >= 0 && isUnspacedAt(bytes, start)
}

function isUnspacedAt(bytes: Uint8Array, at: number): boolean {
  const lead = bytes[at] ?? 0
  if (lead < 0xe3) return false
  const tail = (index: number): number => (bytes[at + index] ?? 0) & 63
  if (lead < 0xf0) return isUnspaced(((lead & 15) << 12) | (tail(1) << 6) | tail(2))
  return isUnspaced(((lead & 7) << 18) | (tail(1) << 12) | (tail(2) << 6) | tail(3))
}
