/**
 * Documents of Parquet, a row group at a time: only the columns that are asked for are read.
 *
 * A position is a row of the shard. A row group that cannot be read is one reject, and takes the positions of
 * all its rows, so that those behind it stay what they are.
 */

import { isUtf8 } from 'node:buffer'

import { type Compressors, parquetRead, type ParquetParsers } from 'hyparquet'

import { PrestigeError } from '../platform/errors.ts'
import { Batch } from './batch.ts'
import type { Document, Reject, Shard } from './document.ts'
import { DocumentMaker, type Place } from './make-document.ts'
import type { ReadingOptions } from './options.ts'
import {
  decompressors,
  groupStarts,
  openParquet,
  type ParquetFile,
  topNames,
} from './parquet-file.ts'
import { readRows } from './parquet-rows.ts'
import { tooLong, Unfit } from './unfit.ts'

type Items = readonly (Document | Reject)[]

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** What is not UTF-8 stays bytes, and is rejected as such; the default would replace what is broken. */
const PARSERS: Partial<ParquetParsers> = {
  stringFromBytes: (bytes: Uint8Array | undefined) =>
    bytes && isUtf8(bytes) ? decoder.decode(bytes) : bytes,
  jsonFromBytes: (bytes: Uint8Array | undefined) => bytes && decoder.decode(bytes),
}

export async function* readParquet(shard: Shard, options: ReadingOptions): AsyncGenerator<Items> {
  const maker = new DocumentMaker(shard, options)
  const parquet = await openOrReject(shard, maker)
  if ('reason' in parquet) {
    if (options.resume === 0) yield [parquet]
    return
  }
  try {
    const compressors = await decompressors()
    const starts = groupStarts(parquet.metadata)
    const first = starts[shard.start] ?? 0
    const batch = new Batch(options)
    for (let group = shard.start; group < shard.end; group++) {
      const [start, end] = [starts[group] ?? 0, starts[group + 1] ?? 0]
      const from = Math.max(start, first + options.resume)
      if (from >= end) continue
      const rows = await readGroup(parquet, columnsOf(parquet, maker), from, end, compressors)
      const items = rows instanceof Unfit ? [rows] : rows
      for (const [at, row] of items.entries()) {
        const place = { position: from - first + at, line: from + at + 1, offset: 0 }
        const item = itemOf(maker, row, place, options.lineBytesMax)
        if (batch.add(item, 'text' in item ? item.text.length : 0)) yield batch.take()
      }
    }
    parquet.input.requireUnchanged()
    if (!batch.isEmpty) yield batch.take()
  } finally {
    parquet.input.close()
  }
}

async function openOrReject(shard: Shard, maker: DocumentMaker): Promise<ParquetFile | Reject> {
  const place = { position: 0, line: 1, offset: 0 }
  try {
    const parquet = await openParquet(shard)
    const columns = columnsOf(parquet, maker)
    if (columns.includes(maker.text.name) || columns.includes(maker.text.parts[0] ?? '')) {
      return parquet
    }
    parquet.input.close()
    const has = topNames(parquet.metadata.schema).join(', ')
    const message = `it has no column ${maker.text.name}; its columns are: ${has}`
    return maker.reject(place, new Unfit('missing-field', message), '')
  } catch (error) {
    return maker.reject(place, unreadable(error), '')
  }
}

/** Throws what is not the fault of the bytes. */
function unreadable(error: unknown): Unfit {
  if (error instanceof PrestigeError) throw error
  const why = error instanceof Error ? error.message : String(error)
  return new Unfit('unreadable', `it cannot be read as Parquet: ${why.slice(0, 200)}`)
}

function columnsOf({ metadata }: ParquetFile, maker: DocumentMaker): string[] {
  const there = topNames(metadata.schema)
  const fields = [maker.text, maker.id, ...maker.extras.values()]
  const wanted = new Set(
    fields.map(({ name, parts }) => (there.includes(name) ? name : (parts[0] ?? name))),
  )
  return there.filter((name) => wanted.has(name))
}

/**
 * Rows are written with all their columns. One that cannot be read is found here, while the rows can still be
 * rejected, and not when everything is decided.
 */
async function requireOthers(
  parquet: ParquetFile,
  columns: readonly string[],
  rowStart: number,
  rowEnd: number,
  compressors: Compressors,
): Promise<void> {
  const others = topNames(parquet.metadata.schema).filter((name) => !columns.includes(name))
  if (others.length > 0) await readRows(parquet, others, rowStart, rowEnd, compressors)
}

async function readGroup(
  parquet: ParquetFile,
  columns: string[],
  rowStart: number,
  rowEnd: number,
  compressors: Compressors,
): Promise<readonly unknown[] | Unfit> {
  const { file, metadata } = parquet
  let rows: readonly unknown[] = []
  try {
    await parquetRead({
      file,
      metadata,
      columns,
      rowStart,
      rowEnd,
      compressors,
      parsers: PARSERS,
      rowFormat: 'object',
      onComplete: (read) => {
        rows = read
      },
    })
    await requireOthers(parquet, columns, rowStart, rowEnd, compressors)
    return rows
  } catch (error) {
    return unreadable(error)
  }
}

function itemOf(
  maker: DocumentMaker,
  row: unknown,
  place: Place,
  bytesMax: number,
): Document | Reject {
  try {
    if (row instanceof Unfit) throw row
    const document = maker.ofValue(row, place, () => undefined)
    if (document.text.length > bytesMax) throw tooLong(document.text.length, bytesMax)
    return document
  } catch (error) {
    if (error instanceof Unfit) return maker.reject(place, error, '')
    throw error
  }
}
