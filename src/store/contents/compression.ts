/**
 * Bytes as they are kept: a first byte that names the codec, then, of compressed ones, the raw length (4), then the
 * bytes. Raw deflate everywhere; Zstandard is written where Node has it, and read everywhere.
 */

import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'

import type { decompress as FzstdDecompress } from 'fzstd'

import { type Bytes, EMPTY } from '../../platform/bytes.ts'
import { unreadable } from '../../platform/rows.ts'
import { checksumOf } from '../../backends/index.ts'

/** `none`: bytes are kept as they are. `fast`: in little time. `small`: in as few bytes as possible. */
export type Compression = 'none' | 'fast' | 'small'

export const PLAIN = 0x10
export const DEFLATED = 0x11
export const ZSTD = 0x12
/** The codec and the raw length. */
export const HEAD_BYTES = 5
/** Shorter ones are not worth it: an engine's page holds them anyway. */
export const COMPRESSED_BYTES_MIN = 4096

const DEFLATE_LEVEL = { none: 0, fast: 2, small: 9 } as const
const ZSTD_LEVEL = { none: 0, fast: 3, small: 15 } as const
/** What saves less than an eighth is kept as it is. */
const SAVED_SHARE = 8
const SAMPLE_RUNS = 64
const SAMPLE_RUN_BYTES = 32
/** Bits a byte: what is compressed or encrypted has nearly 8, everything worth compressing far less. */
const ENTROPY_MAX = 7.6

type ZstdSync = (bytes: Bytes, options?: object) => Buffer
type ZstdAsync = (bytes: Bytes, options?: object) => Promise<Buffer>

/** What older versions of Node do not have. */
function functionOfNode(name: string): unknown {
  const found: unknown = Reflect.get(zlib, name)
  return typeof found === 'function' ? found : undefined
}

// safe: if zlib has functions of these names, they take bytes and options as all of their kind
const zstdCompressSync = functionOfNode('zstdCompressSync') as ZstdSync | undefined
const zstdDecompressSync = functionOfNode('zstdDecompressSync') as ZstdSync | undefined
const zstdCallback = functionOfNode('zstdCompress') as ((...args: never[]) => void) | undefined
// safe: promisify turns its last argument, a callback of error and result, into a promise
const zstdCompress = zstdCallback && (promisify(zstdCallback) as unknown as ZstdAsync)

type Crc32 = (bytes: Bytes) => number
// safe: zlib's function takes bytes
export const crc32: Crc32 = (functionOfNode('crc32') as Crc32 | undefined) ?? checksumOf

const deflateRaw = promisify<Bytes, zlib.ZlibOptions, Buffer>(zlib.deflateRaw)

function zstdOptions(compression: Compression): object {
  const level: unknown = Reflect.get(zlib.constants, 'ZSTD_c_compressionLevel')
  return typeof level === 'number' ? { params: { [level]: ZSTD_LEVEL[compression] } } : {}
}

function deflateOptions({ byteLength }: Bytes, compression: Compression): zlib.ZlibOptions {
  // One chunk holds it all: memory is asked for once.
  const chunkSize = Math.max(1024, byteLength)
  return { level: DEFLATE_LEVEL[compression], memLevel: 9, chunkSize }
}

/** The body and its codec; `undefined` where compressing saves too little. */
export interface Compressed {
  readonly codec: number
  readonly body: Buffer
}

function isWorthIt(bytes: Bytes, compression: Compression): boolean {
  if (compression === 'none' || bytes.byteLength < COMPRESSED_BYTES_MIN) return false
  return entropyOf(bytes) <= ENTROPY_MAX
}

function worth(bytes: Bytes, codec: number, body: Buffer): Compressed | undefined {
  const isSmaller = body.byteLength <= bytes.byteLength - bytes.byteLength / SAVED_SHARE
  return isSmaller ? { codec, body } : undefined
}

export function compress(bytes: Bytes, compression: Compression): Compressed | undefined {
  if (!isWorthIt(bytes, compression)) return undefined
  if (zstdCompressSync) return worth(bytes, ZSTD, zstdCompressSync(bytes, zstdOptions(compression)))
  return worth(bytes, DEFLATED, zlib.deflateRawSync(bytes, deflateOptions(bytes, compression)))
}

/** The same on another thread. */
export async function compressAside(
  bytes: Bytes,
  compression: Compression,
): Promise<Compressed | undefined> {
  if (!isWorthIt(bytes, compression)) return undefined
  if (zstdCompress) return worth(bytes, ZSTD, await zstdCompress(bytes, zstdOptions(compression)))
  return worth(bytes, DEFLATED, await deflateRaw(bytes, deflateOptions(bytes, compression)))
}

/** Exactly so many bytes, or an error. */
export function decompress(codec: number, body: Bytes, bytes: number): Bytes {
  const whole = decompressed(codec, body, bytes)
  if (whole?.byteLength !== bytes) throw unreadable('contents', HINT)
  return whole
}

export const HINT = 'Run prestige verify --repair on this store.'

function decompressed(codec: number, body: Bytes, bytes: number): Bytes | undefined {
  try {
    if (codec === PLAIN) return body
    if (codec === DEFLATED) return inflate(body, bytes)
    if (codec === ZSTD && zstdDecompressSync) return zstdDecompressSync(body, limitOf(bytes))
    return codec === ZSTD ? fzstd()(body) : undefined
  } catch (error) {
    throw unreadable('contents', HINT, error)
  }
}

function inflate(body: Bytes, bytes: number): Buffer {
  if (bytes === 0) return EMPTY
  return zlib.inflateRawSync(body, { ...limitOf(bytes), chunkSize: Math.max(1024, bytes) })
}

/** A damaged row must not make us ask for more memory than the value takes. */
export function limitOf(bytes: number): { readonly maxOutputLength: number } {
  return { maxOutputLength: Math.max(1, bytes) }
}

type Decoder = typeof FzstdDecompress

let decoder: Decoder | undefined

/** Loaded when a row asks for it, and at once: bodies of transactions cannot wait. */
function fzstd(): Decoder {
  // safe: the package says so in its types
  decoder ??= (createRequire(import.meta.url)('fzstd') as { decompress: Decoder }).decompress
  return decoder
}

/** Bits a byte of a sample, in runs from all over the bytes. */
function entropyOf(bytes: Bytes): number {
  const counts = new Uint16Array(256)
  const step = Math.max(SAMPLE_RUN_BYTES, Math.floor(bytes.byteLength / SAMPLE_RUNS))
  let sampled = 0
  for (let from = 0; from < bytes.byteLength; from += step) {
    const end = Math.min(bytes.byteLength, from + SAMPLE_RUN_BYTES)
    for (let at = from; at < end; at++) {
      const byte = bytes[at] ?? 0
      counts[byte] = (counts[byte] ?? 0) + 1
    }
    sampled += end - from
  }
  let bits = 0
  for (const count of counts) bits += BITS[count] ?? count * Math.log2(count)
  return Math.log2(sampled) - bits / sampled
}

/** What a byte that occurs so many times adds to the sum. */
const BITS = Float64Array.from({ length: 64 }, (_, count) =>
  count === 0 ? 0 : count * Math.log2(count),
)
