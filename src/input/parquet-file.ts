/** A Parquet file while it is open: what its footer says, and rows of its row groups. */

import * as zlib from 'node:zlib'

import {
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  type SchemaElement,
} from 'hyparquet'

import type { InputFile } from './document.ts'
import { OpenInput } from './open-input.ts'

export interface ParquetFile {
  readonly input: OpenInput
  readonly file: AsyncBuffer
  readonly metadata: FileMetaData
}

/** The caller closes `input`. Throws what is no PrestigeError if it is no Parquet file. */
export async function openParquet(of: InputFile): Promise<ParquetFile> {
  const input = new OpenInput(of)
  const file: AsyncBuffer = {
    byteLength: input.bytes,
    slice(start, end = input.bytes) {
      const bytes = new ArrayBuffer(end - start)
      if (input.read(Buffer.from(bytes), start) < end - start) throw new Error('it ends too early')
      return bytes
    },
  }
  try {
    return { input, file, metadata: await parquetMetadataAsync(file, { geoparquet: false }) }
  } catch (error) {
    input.close()
    throw error
  }
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

/** By Node where it can, since that is faster; else in JavaScript. */
export async function decompressors(): Promise<Compressors> {
  const { compressors } = await import('hyparquet-compressors')
  const zstd: unknown = Reflect.get(zlib, 'zstdDecompressSync')
  return {
    ...compressors,
    GZIP: (bytes) => zlib.gunzipSync(bytes),
    BROTLI: (bytes) => zlib.brotliDecompressSync(bytes),
    // safe: if zlib has a function of this name, it takes bytes and gives bytes.
    ...(typeof zstd === 'function' ? { ZSTD: zstd as (bytes: Uint8Array) => Uint8Array } : {}),
  }
}
