/**
 * Cuts one file into shards: files of lines at bytes, Parquet at row groups, all else not at all.
 *
 * CSV is not cut, because which newlines are within quotes can only be determined from its beginning.
 */

import type { InputFile, Shard } from './document.ts'
import type { FileKind } from './formats.ts'
import { openInput } from './open-input.ts'
import type { ListingOptions } from './options.ts'

type Draft = Omit<Shard, 'index'>

export async function* rangesOf(
  file: InputFile & FileKind,
  options: ListingOptions,
): AsyncGenerator<Draft> {
  const { format, compression } = file
  if (format === 'parquet') {
    const { rowGroupShards } = await import('./parquet-shards.ts')
    yield* rowGroupShards(file, options.shardBytes)
  } else if (compression === 'none' && (format === 'jsonl' || format === 'lines')) {
    yield* lineRanges(file, options)
  } else yield wholeFile(file)
}

export function wholeFile(file: InputFile & FileKind): Draft {
  const { fileBytes } = file
  return { ...file, start: 0, end: fileBytes, bytes: fileBytes, firstLine: 1 }
}

async function* lineRanges(
  file: InputFile & FileKind,
  options: ListingOptions,
): AsyncGenerator<Draft> {
  const { fileBytes } = file
  const count = Math.max(1, Math.round(fileBytes / options.shardBytes))
  const starts = Array.from({ length: count }, (_, at) => Math.floor((fileBytes / count) * at))
  const firstLines = options.countLines ? await firstLinesOf(file, starts) : []
  for (const [at, start] of starts.entries()) {
    const end = starts[at + 1] ?? fileBytes
    const firstLine = firstLines[at]
    yield {
      ...file,
      start,
      end,
      bytes: end - start,
      ...(firstLine === undefined ? {} : { firstLine }),
    }
  }
}

/** The number of the first line that begins at or behind each start. */
async function firstLinesOf(file: InputFile, starts: readonly number[]): Promise<number[]> {
  const last = starts.at(-1) ?? 0
  if (last === 0) return starts.map(() => 1)
  const input = openInput(file)
  try {
    const lines: number[] = []
    let newlines = 0
    let at = 0
    for await (const block of input.blocks(0, last)) {
      let from = 0
      for (const start of starts.slice(lines.length)) {
        if (start - 1 >= at + block.length) break
        const until = Math.max(0, start - 1 - at)
        newlines += newlinesIn(block.subarray(from, until))
        from = until
        lines.push(start === 0 ? 1 : newlines + 2)
      }
      if (lines.length === starts.length) break
      newlines += newlinesIn(block.subarray(from))
      at += block.length
    }
    input.requireUnchanged()
    return lines
  } finally {
    input.close()
  }
}

function newlinesIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++
  return count
}

/** All of a file as one shard. */
export async function wholeShard(file: InputFile & FileKind): Promise<Shard> {
  if (file.format !== 'parquet') return { index: 0, ...wholeFile(file) }
  const { rowGroupShards } = await import('./parquet-shards.ts')
  for await (const draft of rowGroupShards(file, Infinity)) return { index: 0, ...draft }
  return { index: 0, ...wholeFile(file) }
}
