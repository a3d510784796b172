/** Keys and values between this side and the other. Bytes are a Buffer where there is one, and a Uint8Array elsewhere. */

import { PrestigeError } from '../platform/errors.ts'
import { headerText } from '../platform/value-text.ts'
import type { Head, Metadata, StoreKey, StoreStream, StoreValue } from '../store/index.ts'

const encoder = new TextEncoder()

/** As text, or as base64 where it is not UTF-8. */
export type WireKey = string | { readonly base64: string }

export function keyIn(key: StoreKey): Uint8Array {
  const bytes = typeof key === 'string' ? encoder.encode(key) : key
  if (!(bytes instanceof Uint8Array))
    throw new PrestigeError('INVALID_KEY', 'A key is text or bytes.')
  if (bytes.byteLength === 0) throw new PrestigeError('INVALID_KEY', 'A key cannot be empty.')
  return bytes
}

/** A part of a path. Everything but letters and digits is escaped: `_count` is a key here, and no path of the server. */
export function pathOf(key: StoreKey): string {
  const bytes = keyIn(key)
  const path = Array.from(bytes, escaped).join('')
  if (path !== '%2E' && path !== '%2E%2E') return path
  throw new PrestigeError(
    'INVALID_KEY',
    'The keys . and .. cannot be part of an address, since clients of HTTP resolve them. Choose another key.',
  )
}

function escaped(byte: number): string {
  const character = String.fromCharCode(byte)
  if (/[a-zA-Z0-9]/.test(character)) return character
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

export function keyOut(key: WireKey): Buffer {
  if (typeof key === 'string') return bytesOf(encoder.encode(key))
  return bytesOf(Uint8Array.from(atob(key.base64), (character) => character.charCodeAt(0)))
}

export function wireKey(key: StoreKey): WireKey {
  return typeof key === 'string' && key !== '' ? key : { base64: base64Of(keyIn(key)) }
}

export function base64Of(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** In a browser there is no Buffer: what is returned has the methods of a Uint8Array alone. */
export function bytesOf(bytes: Uint8Array<ArrayBuffer>): Buffer {
  const { Buffer: Known } = globalThis
  const plain: Uint8Array = bytes
  // safe: where there is no Buffer, nobody can expect one
  return Known ? Known.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : (plain as Buffer)
}

const META = 'prestige-meta-'

/** The content type, too, is metadata here: what Content-Type says of a body is not always kept. */
export function metadataOut(metadata: Metadata | undefined): Record<string, string> {
  if (metadata === undefined) return {}
  const headers = Object.entries(metadata).map(([name, text]): [string, string] => {
    // What is no name of metadata may be none of a header; the server would refuse the others.
    if (/^[a-z0-9-]+$/.test(name) && typeof text === 'string')
      return [META + name, headerText(text)]
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `metadata is texts by name, and a name has lower-case letters, digits and hyphens; not ${JSON.stringify(name)}.`,
    )
  })
  return Object.fromEntries(headers)
}

export function headIn(headers: Headers): Head {
  const expires = headers.get('prestige-expires')
  const metadata: Record<string, string> = {}
  headers.forEach((text, name) => {
    if (name.startsWith(META)) metadata[name.slice(META.length)] = decodeURIComponent(text)
  })
  return {
    bytes: Number(headers.get('content-length')),
    digest: (headers.get('etag') ?? '').replaceAll('"', ''),
    contentId: headers.get('prestige-content-id') ?? '',
    putAt: Date.parse(headers.get('prestige-put-at') ?? ''),
    ...(expires !== null && { expiresAt: Date.parse(expires) }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** Reads JSON in which the fields of these names are keys, and `sharedWith` a list of them. */
export function withKeys(
  ...names: readonly ('firstKey' | 'key')[]
): (name: string, value: unknown) => unknown {
  return (_, value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    for (const name of names) {
      const found: unknown = Reflect.get(value, name)
      if (isWireKey(found)) Reflect.set(value, name, keyOut(found))
    }
    const shared: unknown = Reflect.get(value, 'sharedWith')
    if (Array.isArray(shared))
      Reflect.set(value, 'sharedWith', shared.filter(isWireKey).map(keyOut))
    return value
  }
}

function isWireKey(value: unknown): value is WireKey {
  if (typeof value === 'string') return true
  return typeof value === 'object' && value !== null && 'base64' in value
}

type WireBody = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

export function valueIn(value: StoreValue | StoreStream): WireBody {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (value instanceof ReadableStream) return value
  if (value instanceof Blob) return value.stream()
  if (typeof value === 'object' && value !== null && Symbol.asyncIterator in value)
    return streamOf(value)
  throw new PrestigeError('INVALID_VALUE', 'A value is text, bytes or a stream of bytes.')
}

function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}
