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
  type WritingInput,
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

export interface Copied {
  /** The file that was written; of one document a file, their directory. */
  readonly path?: string
  /** What to report. */
  readonly notes: readonly string[]
}

/** The same for an output in another format than its input. What comes from outputs alone is copied. */
export async function convertParts(
  directory: string,
  { name, converted }: { readonly name: string; readonly converted: ConvertedFormat },
  parts: readonly CutPart[],
  reading: ReadingInput | undefined,
): Promise<Copied> {
  const [first] = parts
  if (!first || parts.every(({ isOutput }) => isOutput)) {
    return copyParts(directory, parts, { lineBytesMax: OWN_READING.lineBytesMax })
  }
  const read = parts.map(({ shard, positions, cuts = NO_CUTS, isOutput }) => {
    return { shard, positions, cuts, reading: isOutput ? OWN_READING : (reading ?? {}) }
  })
  const path = join(directory, name)
  await convertKept(path, converted, read, first.shard.file)
  return { path, notes: [] }
}

/** Writes what is below `directory` for the first part, from all of them in their order. */
export async function copyParts(
  directory: string,
  parts: readonly CutPart[],
  options: Writing,
): Promise<Copied> {
  const [first] = parts
  if (!first) return { notes: [] }
  let writer: KeptWriter
  try {
    writer = await openWriter(first.shard, { ...options, directory })
  } catch (error) {
    return { notes: [noteOf(error, first.shard, parts)] }
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
  const { path, note } = writer
  return { path, notes: note === undefined ? [] : [note] }
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
