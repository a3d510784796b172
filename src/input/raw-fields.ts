/**
 * All fields of records, as values: for outputs in another format, which are not copied byte by byte. Plain lines and
 * files have none. Parquet is read as it is understood: dates are dates, and decimals are numbers.
 */

import { KeptPositions } from './kept-positions.ts'
import type { Shard } from './document.ts'
import { ShardRecords } from './shard-records.ts'
import { isBlank, ShardLines, withoutMark } from './shard-lines.ts'

export type RawFields = Record<string, unknown>

interface Reading {
  readonly lineBytesMax: number
  readonly hasQuotes: boolean
}

/** One for each position, in their order. */
export async function* rawFields(
  shard: Shard,
  positions: readonly number[],
  reading: Reading,
): AsyncGenerator<RawFields> {
  if (positions.length === 0) return
  if (shard.format === 'jsonl') yield* ofLines(shard, positions, reading)
  else if (shard.format === 'csv' || shard.format === 'tsv') {
    yield* ofRecords(shard, positions, reading)
  } else if (shard.format === 'parquet') yield* ofRows(shard, positions)
  else for (const _ of positions) yield {}
}

async function* ofLines(
  shard: Shard,
  positions: readonly number[],
  { lineBytesMax }: Reading,
): AsyncGenerator<RawFields> {
  const kept = new KeptPositions(positions)
  let position = 0
  for await (const scanner of new ShardLines(shard, lineBytesMax).scan()) {
    while (scanner.next()) {
      const bytes = scanner.offset === 0 ? withoutMark(scanner.bytes) : scanner.bytes
      if (!scanner.isTooLong && isBlank(bytes, 'jsonl')) continue
      if (kept.has(position++)) yield fieldsOf(JSON.parse(bytes.toString()))
    }
    if (kept.isDone) return
  }
}

async function* ofRecords(
  shard: Shard,
  positions: readonly number[],
  reading: Reading,
): AsyncGenerator<RawFields> {
  const kept = new KeptPositions(positions)
  let names: readonly string[] = []
  let position = -1
  for await (const scanner of new ShardRecords(shard, reading).scan()) {
    while (scanner.next()) {
      const { fields } = scanner.parser
      const at = position++
      if (at < 0) names = [...fields]
      else if (kept.has(at)) {
        yield Object.fromEntries(names.map((name, column) => [name, fields[column] ?? '']))
      }
    }
    if (kept.isDone) return
  }
}

async function* ofRows(shard: Shard, positions: readonly number[]): AsyncGenerator<RawFields> {
  const { decompressors, groupStarts, openParquet } = await import('./parquet-file.ts')
  const { parquetReadObjects } = await import('hyparquet')
  const { input, file, metadata } = await openParquet(shard)
  try {
    const kept = new KeptPositions(positions)
    const compressors = await decompressors()
    const starts = groupStarts(metadata)
    const first = starts[shard.start] ?? 0
    for (let group = shard.start; group < shard.end && !kept.isDone; group++) {
      const [rowStart, rowEnd] = [starts[group] ?? 0, starts[group + 1] ?? 0]
      const rows = await parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors })
      for (const [at, row] of rows.entries()) {
        if (kept.has(rowStart - first + at)) yield fieldsOf(row)
      }
    }
  } finally {
    input.close()
  }
}

function fieldsOf(value: unknown): RawFields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? { ...value } : {}
}

/** Fields without a column of their own. */
export function packedOf({ others }: { readonly others: RawFields }): string {
  return Object.keys(others).length === 0 ? '' : JSON.stringify(others, plain)
}

/** Values that JSON does not have: large whole numbers are strings, and bytes are in Base64. */
export function plain(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : String(value)
  }
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
