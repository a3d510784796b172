/** Shards of a Parquet file: as many row groups as make about one shard. */

import type { InputFile, Shard } from './document.ts'
import type { FileKind } from './formats.ts'

export async function* rowGroupShards(
  file: InputFile & FileKind,
  _shardBytes: number,
): AsyncGenerator<Omit<Shard, 'index'>> {
  yield { ...file, start: 0, end: 0, bytes: file.fileBytes, firstLine: 1 }
}
