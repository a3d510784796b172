/** Writes one output from one or more files of the same format, each record as it is there but for what is cut. */

import { join } from '../../platform/paths.ts'

import {
  type ConvertedFormat,
  convertKept,
  type Cuts,
  type KeptWriter,
  NO_CUTS,
  openWriter,
  OWN_READING,
  type ReadingInput,
  type Shard,
  type Splitting,
  type WritingInput,
  type WrittenFile,
  writeTexts,
} from '../../input/index.ts'
import { PrestigeError } from '../../platform/errors.ts'

/** Records that are copied from a shard, in its order. */
export interface CutPart {
  readonly shard: Shard
  /** In ascending order. */
  readonly positions: readonly number[]
  readonly ids: readonly string[]
  readonly cuts?: Cuts
  /** They come from an output, which may have another format than the input. */
  readonly isOutput?: true
}

export type Writing = Omit<WritingInput, 'directory'>

/** Positions are those that reading gave, so what makes them must be the same. */
export function writingOf({ reading }: { readonly reading?: ReadingInput | undefined }): Writing {
  const { lineBytesMax, hasQuotes, fields } = reading ?? {}
  return {
    ...(lineBytesMax !== undefined && { lineBytesMax }),
    ...(hasQuotes !== undefined && { hasQuotes }),
    ...(fields !== undefined && { fields }),
  }
}

/** One document in a file of its own, as a shard. */
export function filesShard(shard: Shard): Shard {
  return { ...shard, start: 0, end: 1, files: [shard] }
}

export interface Copied {
  /** The file that was written; of one document a file, their directory. */
  readonly path?: string
  /** Where they are counted: those that were written. */
  readonly files: readonly WrittenFile[]
  /** What to report. */
  readonly notes: readonly string[]
}

/** The same for an output in another format than its input. What comes from outputs alone is copied. */
export async function convertParts(
  directory: string,
  { name, converted }: { readonly name: string; readonly converted: ConvertedFormat },
  parts: readonly CutPart[],
  reading: ReadingInput | undefined,
  splitting?: Splitting,
): Promise<Copied> {
  const [first] = parts
  if (!first || parts.every(({ isOutput }) => isOutput)) {
    const copied = parts.map((part) =>
      converted === 'files' ? { ...part, shard: filesShard(part.shard) } : part,
    )
    return copyParts(directory, copied, { lineBytesMax: OWN_READING.lineBytesMax }, splitting)
  }
  const read = parts.map((part) => readAs(part, reading))
  const path = join(directory, name)
  const { file } = first.shard
  if (converted === 'files') {
    await writeTexts(directory, read, file, () => name)
    return { path, files: [], notes: [] }
  }
  return { path, files: await convertKept(path, converted, read, file, splitting), notes: [] }
}

/** To be converted. */
export function readAs(
  { shard, positions, cuts = NO_CUTS, isOutput }: CutPart,
  reading: ReadingInput | undefined,
) {
  return { shard, positions, cuts, reading: isOutput ? OWN_READING : (reading ?? {}) }
}

/** Writes what is below `directory` for the first part, from all of them in their order. */
export async function copyParts(
  directory: string,
  parts: readonly CutPart[],
  options: Writing,
  splitting?: Splitting,
): Promise<Copied> {
  const [first] = parts
  if (!first) return { files: [], notes: [] }
  let writer: KeptWriter
  try {
    writer = await openWriter(first.shard, { ...options, directory }, splitting)
  } catch (error) {
    return { files: [], notes: [noteOf(error, first.shard, parts)] }
  }
  try {
    for (const { shard, positions, cuts } of parts) {
      await writer.writeKept(positions, shard, cuts ?? NO_CUTS)
    }
    await writer.close()
  } catch (error) {
    await writer.abort()
    throw error
  }
  const { path, files, note } = writer
  return { path, files, notes: note === undefined ? [] : [note] }
}

/** A file that cannot be read at all has nothing that is kept: it holds up no others. Throws all else again. */
function noteOf(error: unknown, { path, format }: Shard, parts: readonly CutPart[]): string {
  const isUnreadable = error instanceof PrestigeError && error.code === 'FORMAT_UNSUPPORTED'
  const isAnythingKept = parts.some(({ positions }) => positions.length > 0)
  if (!isUnreadable || format !== 'parquet' || isAnythingKept) throw error
  return `Nothing is written for ${path}, of which nothing is kept: it cannot be read as Parquet.`
}

/** Shards of one file follow each other, and are one output. */
export function groupsOf(shards: readonly Shard[]): Shard[][] {
  const groups: Shard[][] = []
  for (const shard of shards) {
    const last = groups.at(-1)
    const isSameFile = last?.[0]?.file === shard.file && shard.format !== 'files'
    if (last && isSameFile) last.push(shard)
    else groups.push([shard])
  }
  return groups
}
