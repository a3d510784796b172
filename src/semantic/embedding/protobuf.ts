/**
 * Writes the few kinds of protobuf fields that an ONNX model is made of. Large byte fields are not copied until the
 * whole is put together.
 */

/** A message: its parts in order. */
export type Message = readonly Uint8Array[]

const VARINT = 0
const LENGTH = 2
const FIXED32 = 5

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  do {
    const low = Number(rest & 0x7fn)
    rest >>= 7n
    bytes.push(rest > 0n ? low | 0x80 : low)
  } while (rest > 0n)
  return Buffer.from(bytes)
}

const tag = (field: number, wire: number) => varint(field * 8 + wire)

/** A whole number; negative ones as 64 bits, as protobuf has it. */
export function integer(field: number, value: number): Message {
  return [tag(field, VARINT), varint(value)]
}

export function float(field: number, value: number): Message {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeFloatLE(value)
  return [tag(field, FIXED32), bytes]
}

export function bytes(field: number, value: Uint8Array): Message {
  return [tag(field, LENGTH), varint(value.byteLength), value]
}

export function text(field: number, value: string): Message {
  return bytes(field, Buffer.from(value))
}

export function message(field: number, ...parts: readonly Message[]): Message {
  const inner = parts.flat()
  const length = inner.reduce((sum, part) => sum + part.byteLength, 0)
  return [tag(field, LENGTH), varint(length), ...inner]
}

export function whole(...parts: readonly Message[]): Buffer {
  return Buffer.concat(parts.flat())
}
