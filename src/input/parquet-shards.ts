/** Shards of a Parquet file: as many row groups as make about one shard, since a row group is read at once. */

import { PrestigeError } from '../platform/errors.ts'
import type { InputFile, Shard } from './document.ts'
import type { FileKind } from './formats.ts'
import { openParquet } from './parquet-file.ts'

type Draft = Omit<Shard, 'index'>

export async function* rowGroupShards(
  file: InputFile & FileKind,
  shardBytes: number,
): AsyncGenerator<Draft> {
  const groups = await groupsOf(file)
  let [start, rows, rowsBefore, size, bytes] = [0, 0, 0, 0, 0]
  for (const [at, group] of groups.entries()) {
    if (at > start && size + group.size > shardBytes) {
      yield { ...file, start, end: at, bytes, firstLine: rowsBefore + 1 }
      start = at
      rowsBefore += rows
      rows = size = bytes = 0
    }
    rows += group.rows
    size += group.size
    bytes += group.bytes
  }
  yield { ...file, start, end: groups.length, bytes, firstLine: rowsBefore + 1 }
}

interface Group {
  readonly rows: number
  /** Uncompressed. */
  readonly size: number
  /** On the disk. */
  readonly bytes: number
}

/** Of what is no Parquet file there are none: reading its shard reports why. */
async function groupsOf(file: InputFile): Promise<Group[]> {
  try {
    const { input, metadata } = await openParquet(file)
    input.close()
    return metadata.row_groups.map(({ num_rows, total_byte_size, total_compressed_size }) => ({
      rows: Number(num_rows),
      size: Number(total_byte_size),
      bytes: Number(total_compressed_size ?? total_byte_size),
    }))
  } catch (error) {
    if (error instanceof PrestigeError) throw error
    return []
  }
}
