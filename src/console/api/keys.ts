/** Keys as people read them, and as a path has them. */

import type { Key } from './types.ts'

export function pathOf(key: Key): string {
  if (typeof key === 'string') return encodeURIComponent(key)
  return [...bytesOf(key.base64)].map((byte) => `%${hexByte(byte)}`).join('')
}

/** As a path has it → as the API's bodies have it. */
export function keyOf(path: string): Key {
  try {
    return decodeURIComponent(path)
  } catch {
    const binary = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    return { base64: btoa(binary) }
  }
}

export function shownKey(key: Key): string {
  if (typeof key === 'string') return key === '' ? '(empty)' : key
  return `0x${[...bytesOf(key.base64)].map(hexByte).join('')}`
}

export function hexByte(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}
