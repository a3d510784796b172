/** Reads a shard from its beginning to its end, in batches. Its memory does not grow with the shard. */

import { PrestigeError } from '../errors.ts'
import { readOptions } from '../options.ts'
import type { Document, Reject, Shard } from './document.ts'
import { readingOptions, type ReadingInput } from './options.ts'
import { readCsv } from './read-csv.ts'
import { readFiles } from './read-files.ts'
import { readLines } from './read-lines.ts'

export function readShard(
  shard: Shard,
  options: ReadingInput = {},
): AsyncGenerator<readonly (Document | Reject)[]> {
  const read = readOptions(readingOptions, options, 'reading')
  switch (shard.format) {
    case 'files':
      return readFiles(shard, read)
    case 'jsonl':
    case 'lines':
      return readLines(shard, read)
    case 'csv':
    case 'tsv':
      return readCsv(shard, read)
    case 'parquet':
      throw new PrestigeError('FORMAT_UNSUPPORTED', `${shard.format} cannot be read yet.`)
  }
}
