/** Reads a shard from its beginning to its end, in batches. Its memory does not grow with the shard. */

import { readOptions } from '../platform/options.ts'
import type { Document, InputFormat, Reject, Shard } from './document.ts'
import { readingOptions, type ReadingInput, type ReadingOptions } from './options.ts'
import { readCsv } from './read-csv.ts'
import { readFiles } from './read-files.ts'
import { readJson } from './read-json.ts'
import { readLines } from './read-lines.ts'

export function readShard(
  shard: Shard,
  options: ReadingInput = {},
): AsyncGenerator<readonly (Document | Reject)[]> {
  const read = readOptions(readingOptions, options, 'reading')
  return readerOf[shard.format](shard, read, false)
}

/** The same, but texts are only good until the next batch is asked for: their memory is used again. */
export function readLendingTexts(
  shard: Shard,
  options: ReadingInput,
): AsyncGenerator<readonly (Document | Reject)[]> {
  const read = readOptions(readingOptions, options, 'reading')
  return readerOf[shard.format](shard, read, true)
}

type Reader = (
  shard: Shard,
  options: ReadingOptions,
  isLending: boolean,
) => AsyncGenerator<readonly (Document | Reject)[]>

const readerOf: Readonly<Record<InputFormat, Reader>> = {
  jsonl: readLines,
  json: readJson,
  lines: readLines,
  csv: readCsv,
  tsv: readCsv,
  parquet: loadAndReadParquet,
  files: readFiles,
}

/** Loaded only when there is such a shard: most programs never read one. */
async function* loadAndReadParquet(
  shard: Shard,
  options: ReadingOptions,
): AsyncGenerator<readonly (Document | Reject)[]> {
  const { readParquet } = await import('./read-parquet.ts')
  yield* readParquet(shard, options)
}
