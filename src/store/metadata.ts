/**
 * Metadata of a key: short texts by name, such as the content type of its value, kept in its entry.
 *
 * As bytes, for each name in ascending order: length of the name (1), name, length of the text in UTF-8 (2), text. Equal
 * metadata have equal bytes.
 */

import { asBuffer, type Bytes, equalBytes } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'

/** Texts by name. A name has 1 to 64 of `a` to `z`, `0` to `9` and `-`; a text has no control characters. */
export type Metadata = Readonly<Record<string, string>>

/** Of all names and texts of a key. */
export const METADATA_BYTES_MAX = 2048
/** As bytes: a name has at least one, and each has three more for its lengths. */
export const METADATA_ROW_BYTES_MAX: number = 4 * METADATA_BYTES_MAX

const NAME = /^[a-z0-9-]{1,64}$/

/** `undefined`: there are none. */
export function encodeMetadata(metadata: unknown): Buffer | undefined {
  if (metadata === undefined) return undefined
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw refused('metadata is an object of texts by name.')
  const parts: Buffer[] = []
  let bytes = 0
  for (const [name, text] of Object.entries(metadata).toSorted(byName)) {
    const value = textBytes(name, text)
    bytes += name.length + value.byteLength
    if (bytes > METADATA_BYTES_MAX)
      throw refused(
        `The metadata of a key has at most ${METADATA_BYTES_MAX} bytes, names and texts together. Keep more in the value, or under a key of its own.`,
      )
    const lengths = Buffer.of(name.length, value.byteLength >> 8, value.byteLength & 0xff)
    parts.push(lengths.subarray(0, 1), Buffer.from(name), lengths.subarray(1), value)
  }
  return parts.length === 0 ? undefined : Buffer.concat(parts)
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1
}

function textBytes(name: string, text: unknown): Buffer {
  const shown = JSON.stringify(name)
  if (!NAME.test(name))
    throw refused(
      `${shown} is no name of metadata: it has 1 to 64 lower-case letters (a to z), digits and hyphens.`,
    )
  if (typeof text === 'string' && text.isWellFormed() && !/\p{Cc}/u.test(text))
    return Buffer.from(text)
  throw refused(`The metadata ${shown} is a text without control characters.`)
}

function refused(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}

export function decodeMetadata(bytes: Bytes): Metadata {
  return Object.fromEntries(fieldsOf(asBuffer(bytes)))
}

function* fieldsOf(row: Buffer): Generator<[name: string, text: string]> {
  for (let at = 0; at < row.byteLength;) {
    const valueAt = at + 1 + row.readUInt8(at) + 2
    const end = valueAt + row.readUInt16BE(valueAt - 2)
    yield [row.toString('latin1', at + 1, valueAt - 2), row.toString('utf8', valueAt, end)]
    at = end
  }
}

/** Whether these are the bytes of some metadata, as far as their lengths say so. */
export function isMetadata(row: Buffer): boolean {
  let at = 0
  while (at < row.byteLength) {
    const valueAt = at + 1 + row.readUInt8(at) + 2
    if (valueAt > row.byteLength) return false
    at = valueAt + row.readUInt16BE(valueAt - 2)
  }
  return at > 0 && at === row.byteLength
}

export function isSameMetadata(one: Bytes | undefined, other: Bytes | undefined): boolean {
  return one === other || (one !== undefined && other !== undefined && equalBytes(one, other))
}
