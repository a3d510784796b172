/** A Parquet file while it is open: what its footer says, and rows of its row groups. */

import * as zlib from 'node:zlib'

import type * as fzstd from 'fzstd'
import {
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  type SchemaElement,
} from 'hyparquet'

import type { InputFile } from './document.ts'
import { type Input, openInput } from './open-input.ts'
import { ZstdBlocks } from './zstd-blocks.ts'

export interface ParquetFile {
  readonly input: Input
  readonly file: AsyncBuffer
  readonly metadata: FileMetaData
}

/** The caller closes `input`. Throws what is no PrestigeError if it is no Parquet file. */
export async function openParquet(of: InputFile): Promise<ParquetFile> {
  const input = openInput(of)
  const file: AsyncBuffer = {
    byteLength: input.bytes,
    async slice(start, end = input.bytes) {
      const bytes = new ArrayBuffer(end - start)
      const got = await input.read(Buffer.from(bytes), start)
      if (got < end - start) throw new Error('it ends too early')
      return bytes
    },
  }
  try {
    const metadata = await parquetMetadataAsync(file, { geoparquet: false })
    metadata.row_groups.forEach(requireRows)
    return { input, file, metadata }
  } catch (error) {
    input.close()
    throw error
  }
}

/** A row group is read at once, so that no more can be meant. */
const GROUP_ROWS_MAX = 2 ** 28

function requireRows({ num_rows }: { readonly num_rows: bigint }, at: number): void {
  const rows = Number(num_rows)
  if (Number.isInteger(rows) && rows >= 0 && rows <= GROUP_ROWS_MAX) return
  throw new Error(`row group ${at + 1} declares ${String(num_rows)} rows`)
}

/** Rows before each row group, and behind the last. */
export function groupStarts({ row_groups }: FileMetaData): number[] {
  const starts = [0]
  for (const { num_rows } of row_groups) starts.push((starts.at(-1) ?? 0) + Number(num_rows))
  return starts
}

/** The columns at the top, in the order of the schema, which lists a tree from its root on. */
export function topNames(schema: readonly SchemaElement[]): string[] {
  const names: string[] = []
  const sizeAt = (at: number): number => {
    let size = 1
    for (let child = 0; child < (schema[at]?.num_children ?? 0); child++) size += sizeAt(at + size)
    return size
  }
  for (let at = 1; at < schema.length; at += sizeAt(at)) names.push(schema[at]?.name ?? '')
  return names
}

/** The largest page that is decompressed: a page is held whole. */
const PAGE_BYTES_MAX = 512 * 1024 * 1024

type Decompressor = (bytes: Uint8Array, outputBytes: number) => Uint8Array

/** By Node where it can, since that is faster; else in JavaScript. None gives more than the page declares. */
export async function decompressors(): Promise<Compressors> {
  const { compressors } = await import('hyparquet-compressors')
  const own: Record<string, Decompressor> = {
    ...compressors,
    GZIP: (bytes, outputBytes) => zlib.gunzipSync(bytes, limitTo(outputBytes)),
    BROTLI: (bytes, outputBytes) => zlib.brotliDecompressSync(bytes, limitTo(outputBytes)),
    ZSTD: zstdOfPages(await import('fzstd')),
  }
  const bounded = Object.entries(own).map(([name, decompress]): [string, Decompressor] => [
    name,
    (bytes, outputBytes) => {
      if (outputBytes <= PAGE_BYTES_MAX) return decompress(bytes, outputBytes)
      throw new Error(`a page declares ${outputBytes} bytes, more than ${PAGE_BYTES_MAX}`)
    },
  ])
  return Object.fromEntries(bounded)
}

/** Node takes no limit of nothing. */
function limitTo(outputBytes: number): { maxOutputLength: number } {
  return { maxOutputLength: Math.max(1, outputBytes) }
}

function zstdOfPages({ Decompress }: typeof fzstd): Decompressor {
  const ofNode: unknown = Reflect.get(zlib, 'zstdDecompressSync')
  if (typeof ofNode === 'function') {
    return (bytes, outputBytes) => ofNode(bytes, limitTo(outputBytes))
  }
  return (bytes, outputBytes) => {
    const output = Buffer.alloc(outputBytes)
    let filled = 0
    const stream = new Decompress((part) => {
      if (filled + part.length > outputBytes) throw new Error('a page is longer than it declares')
      output.set(part, filled)
      filled += part.length
    })
    const cutter = new ZstdBlocks()
    for (const piece of cutter.feed(Buffer.from(bytes))) stream.push(piece)
    stream.push(cutter.rest, true)
    return output.subarray(0, filled)
  }
}
