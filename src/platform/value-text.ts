/**
 * Values as JSON, written in one way: names sorted, no white space, numbers and strings as JavaScript writes them (RFC
 * 8785). So equal values have equal bytes, and are one content whatever the order in which their members were set.
 *
 * Text is UTF-8. Both are used where there is no Node, too.
 *
 * What JSON cannot say is refused with its path, never left out or altered: a value comes back as it was put.
 */

import { PrestigeError } from './errors.ts'

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

/** Deeper nesting would exhaust the stack of those who read it. The canonical profile `json` has the same limit. */
const DEPTH_MAX = 1000

export function jsonText(value: JsonValue): string {
  return jsonOf(value, '$', [])
}

export function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new PrestigeError(
      'UNREADABLE_VALUE',
      'The value is not valid UTF-8. Use get for its bytes.',
      { cause: error },
    )
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new PrestigeError(
      'UNREADABLE_VALUE',
      'The value is not JSON. Use getText or get for what it is.',
      { cause: error },
    )
  }
}

/** The content of a header: what is not printable ASCII, or a space at an end, is percent-encoded, so that no value ends a header. */
export function headerText(text: string): string {
  return text.replace(/^ | $|[^\x20-\x7e]|%/gu, (character) => encodeURIComponent(character))
}

/** In no UTF-8: what begins so is no text, and no store compares it. */
const NOT_TEXT = 0xff
const RECORD_FORMAT = 1

/** JSON as a value that no store compares with others, in a format with a number: `ff 01 {"a":1}`. */
export function encodeRecord(value: JsonValue): Buffer {
  return Buffer.concat([Buffer.of(NOT_TEXT, RECORD_FORMAT), Buffer.from(jsonText(value))])
}

/** `what` has such values only: others are refused by name. */
export function decodeRecord(bytes: Buffer, what: string): unknown {
  if (bytes[0] === NOT_TEXT && bytes[1] === RECORD_FORMAT) {
    return parseJson(bytes.subarray(2).toString())
  }
  throw new PrestigeError(
    'FORMAT_UNSUPPORTED',
    `This store has keys that are not those of a ${what}, or of a later version of it. Give the ${what} a namespace of its own.`,
  )
}

/** `around`: the objects and arrays that the value is in. */
function jsonOf(value: unknown, path: string, around: unknown[]): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return stringText(value, path)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw refused(path, `is ${value}`)
    return JSON.stringify(value)
  }
  if (value === undefined) throw refused(path, 'is undefined')
  if (typeof value !== 'object') throw refused(path, `is a ${typeof value}`)
  if (around.includes(value)) throw refused(path, 'contains itself')
  if (around.length >= DEPTH_MAX) throw refused(path, `is nested deeper than ${DEPTH_MAX}`)
  around.push(value)
  const text = Array.isArray(value)
    ? arrayText(value, path, around)
    : objectText(value, path, around)
  around.pop()
  return text
}

function stringText(text: string, path: string): string {
  if (text.isWellFormed()) return JSON.stringify(text)
  throw refused(path, 'holds a lone surrogate')
}

/** By index: an array may have holes, which are `undefined`. */
function arrayText(array: readonly unknown[], path: string, around: unknown[]): string {
  let text = '['
  for (let at = 0; at < array.length; at++) {
    text += (at === 0 ? '' : ',') + jsonOf(array[at], `${path}[${at}]`, around)
  }
  return text + ']'
}

function objectText(value: object, path: string, around: unknown[]): string {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw refused(path, `is a ${value.constructor.name}, not a plain object`)
  }
  let text = '{'
  // By UTF-16 units, as RFC 8785 sorts.
  for (const name of Object.keys(value).toSorted()) {
    const inner = `${path}${/^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`}`
    const member = jsonOf(Reflect.get(value, name), inner, around)
    text += `${text === '{' ? '' : ','}${stringText(name, inner)}:${member}`
  }
  return text + '}'
}

function refused(path: string, why: string): PrestigeError {
  return new PrestigeError(
    'INVALID_VALUE',
    `JSON cannot hold this value: ${path} ${why}. Leave it out, or convert it first.`,
  )
}
