/**
 * Whether keys can be files below a directory, each its own. Anything else is refused by name before
 * anything is written: a key is input, and `../../etc/passwd` is a key.
 */

const SLASH = 0x2f
const NAME_BYTES_MAX = 255

/** Characters Windows gives a meaning to, names it keeps for devices, and endings it drops. */
const WINDOWS_UNSAFE = /[\\:<>"|?*\p{Cc}]|[ .]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/iu

/** Why this key is no safe path; `undefined` when it is one. */
export function unsafeReason(key: Buffer, platform: string = process.platform): string | undefined {
  if (key.byteLength === 0) return 'nothing is left of it without the prefix'
  if (key[0] === SLASH) return 'it is an absolute path'
  if (key.includes(0)) return 'it holds a NUL'
  // One character a byte: only the ASCII ones mean anything here.
  for (const segment of key.toString('latin1').split('/')) {
    if (segment === '') return 'it has an empty segment'
    if (segment === '.' || segment === '..') return `it has a segment "${segment}"`
    if (segment.length > NAME_BYTES_MAX)
      return `it has a segment of more than ${NAME_BYTES_MAX} bytes`
    if (platform === 'win32' && WINDOWS_UNSAFE.test(segment))
      return 'Windows cannot have such a name'
  }
  return undefined
}

/**
 * Finds keys that are another key's directory, as `a` is of `a/b`. Keys come in byte order, so everything
 * between the two begins with the first: the keys that begin the current one are all that must be held.
 */
export class DirectoryCheck {
  #beginnings: Buffer[] = []

  /** The earlier key that would have to be a directory for this one. */
  add(key: Buffer): Buffer | undefined {
    this.#beginnings = this.#beginnings.filter((earlier) => startsWith(key, earlier))
    const directory = this.#beginnings.find((earlier) => key[earlier.byteLength] === SLASH)
    this.#beginnings.push(key)
    return directory
  }
}

function startsWith(key: Buffer, beginning: Buffer): boolean {
  return key.subarray(0, beginning.byteLength).equals(beginning)
}
