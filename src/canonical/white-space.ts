/**
 * Collapses ASCII white space, and lowers ASCII letters, byte by byte.
 *
 * Invariant: bytes from 0x80 up are copied as they are. They are never ASCII in UTF-8, so text in
 * any script passes through whole.
 *
 * Not here: checking that the bytes are UTF-8, and white space or letters outside ASCII.
 */

import { blockKernel } from './block-kernel.ts'

const SPACE = 0x20

export const collapsing = byteMap((byte) => (isAsciiSpace(byte) ? SPACE : byte))
export const collapsingAndLowering = byteMap((byte) =>
  isAsciiSpace(byte) ? SPACE : isAsciiCapital(byte) ? byte + 0x20 : byte,
)

/** Runs of white space become one space; none is left at either end. In `scratch`, where it is large enough. */
export function collapseSpace(bytes: Uint8Array, scratch?: Buffer): Uint8Array {
  return quickly(bytes, false, scratch) ?? collapseWith(collapsing, bytes)
}

/** As `collapseSpace`, and A–Z become a–z. */
export function collapseSpaceAndLower(bytes: Uint8Array, scratch?: Buffer): Uint8Array {
  return quickly(bytes, true, scratch) ?? collapseWith(collapsingAndLowering, bytes)
}

function quickly(
  bytes: Uint8Array,
  lowers: boolean,
  scratch: Buffer | undefined,
): Uint8Array | undefined {
  const kernel = blockKernel()
  if (!kernel) return undefined
  const isRoomy = scratch !== undefined && scratch.length >= bytes.length
  const collapsed = isRoomy ? scratch : Buffer.allocUnsafeSlow(bytes.length)
  const length = kernel.collapse(bytes, collapsed, lowers)
  return new Uint8Array(collapsed.buffer, collapsed.byteOffset, length)
}

/**
 * The twin of the kernel, where there is no WebAssembly. Every byte is written, and the next one overwrites a space that was one too many. That keeps the
 * only branch in the loop predictable: runs of two or more are rare in real text, single spaces are
 * not.
 */
export function collapseWith(map: Uint8Array, bytes: Uint8Array): Uint8Array {
  const collapsed = new Uint8Array(bytes.length)
  let length = 0
  let previous = SPACE // so that leading white space counts as a repetition
  for (let at = 0; at < bytes.length; at++) {
    const byte = map[bytes[at] ?? 0] ?? 0
    collapsed[length] = byte
    // One test for both: as two, the first goes wrong at every space.
    if (((byte ^ SPACE) | (previous ^ SPACE)) !== 0) length++
    previous = byte
  }
  if (length > 0 && previous === SPACE) length--
  return collapsed.subarray(0, length)
}

function byteMap(of: (byte: number) => number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => of(byte))
}

function isAsciiSpace(byte: number): boolean {
  return byte === SPACE || (byte >= 0x09 && byte <= 0x0d)
}

function isAsciiCapital(byte: number): boolean {
  return byte >= 0x41 && byte <= 0x5a
}
