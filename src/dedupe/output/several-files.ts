/**
 * Writes outputs of several files aside: files of a bounded size, numbered without gaps, or a file for each document.
 * Files that are in place and hold just what they should stay; where only their number changes, they get another name.
 */

import {
  DocumentNames,
  numberedName,
  type Shard,
  type Splitting,
  writeTexts,
} from '../../input/index.ts'
import { link, stat } from '../../platform/files.ts'
import { join } from '../../platform/paths.ts'
import type { RunRow } from '../runs.ts'
import type { HeldFile } from './held-files.ts'
import { isOfDocuments, type OutputFile, type OutputRow, type RecordId } from './output-rows.ts'
import type { FileMove, FileRemoval } from './swap.ts'
import { convertParts, copyParts, type CutPart, readAs, writingOf } from './write-kept.ts'

export interface SeveralOptions {
  readonly out: string
  /** Of the swap, below the outputs. */
  readonly folder: string
  /** Of this output, below the folder. */
  readonly place: string
  readonly row: OutputRow
  readonly run: RunRow
  /** What the output should hold, in its order. */
  readonly parts: readonly CutPart[]
  readonly held: readonly HeldFile[]
  /** Other fields of records may have changed than those that identify them. */
  readonly isOwn: boolean
  /** What an output without records is like. */
  readonly empty: Shard
}

export interface SeveralWritten {
  readonly files: readonly OutputFile[]
  /** Of these files. */
  readonly ids: readonly RecordId[]
  readonly lines: readonly (FileMove | FileRemoval)[]
  readonly notes: readonly string[]
}

export function writeSeveral(options: SeveralOptions): Promise<SeveralWritten> {
  return isOfDocuments(options.row) ? writeDocuments(options) : writeNumbered(options)
}

/** Records that belong into one file, or into several if they are too long for one. */
interface Group {
  /** Among all records, half open. */
  readonly from: number
  readonly to: number
  /** In place, with just these records. */
  readonly stays?: HeldFile
}

/** A file that was written aside. */
interface Piece {
  /** Below the folder of the swap. */
  readonly move: string
  readonly records: number
  readonly recordBytes: number
}

async function writeNumbered(options: SeveralOptions): Promise<SeveralWritten> {
  const { row, held, isOwn, parts } = options
  const ids = parts.flatMap((part) => part.ids)
  let groups: readonly Group[] = isOwn ? [{ from: 0, to: ids.length }] : groupsOf(ids, held)
  let { written, notes } = await writeGroups(options, groups, 1)
  // Files that have become small are joined to what is beside them.
  for (let attempt = 2; ; attempt++) {
    const joined = joinedGroups(groups, written, row.several?.bytesMax ?? 0)
    if (joined.length === groups.length) break
    groups = joined
    ;({ written, notes } = await writeGroups(options, groups, attempt))
  }
  const files: OutputFile[] = []
  const lines: (FileMove | FileRemoval)[] = []
  const place = async ({ move, records, recordBytes }: Piece) => {
    const name = numberedName(row.name, files.length)
    files.push({ ...(await stagedFile(options, move, name)), records, recordBytes })
    lines.push({ move, to: name, shown: name })
  }
  for (const { from, to, stays } of groups) {
    if (stays && stays.name === numberedName(row.name, files.length)) files.push(stays)
    else if (stays) {
      const move = `${options.place}/moved/${files.length}`
      await link(join(options.out, 'kept', stays.name), join(options.out, options.folder, move))
      await place({ ...stays, move })
    } else {
      for (let left = to - from; left > 0;) {
        const next = written.shift()
        if (!next) break
        await place(next)
        left -= next.records
      }
    }
  }
  // Of nothing at all there is one file, which is empty.
  for (const piece of written) await place(piece)
  return {
    files,
    ids: files.length > 0 ? ids : [],
    notes,
    lines: [...lines, ...goneOf(held, files)],
  }
}

/** Records stay in the files that they are in; others go to that of the record before them. */
function groupsOf(ids: readonly RecordId[], held: readonly HeldFile[]): Group[] {
  const fileOf = new Map<RecordId, number>()
  for (const [at, file] of held.entries()) for (const id of file.ids) fileOf.set(id, at)
  const starts: { readonly file: number; readonly from: number }[] = []
  for (const [at, id] of ids.entries()) {
    const last = starts.at(-1)?.file
    const file = fileOf.get(id) ?? last ?? 0
    // In another order than they are in: all are written.
    if (last !== undefined && file < last) return [{ from: 0, to: ids.length }]
    if (file !== last) starts.push({ file, from: at })
  }
  return starts.map(({ file, from }, at) => {
    const to = starts[at + 1]?.from ?? ids.length
    const place = held[file]
    const isSame =
      place?.presence === 'intact' &&
      place.records === to - from &&
      place.ids.every((id, n) => id === ids[from + n])
    return isSame ? { from, to, stays: place } : { from, to }
  })
}

/** Neighbours of which at least one is written, and whose records fit into one file where they meet. */
function joinedGroups(
  groups: readonly Group[],
  written: readonly Piece[],
  bytesMax: number,
): readonly Group[] {
  const joined: Group[] = []
  let next = 0
  let endBytes = Infinity
  let endStays = true
  for (const group of groups) {
    const own: { readonly recordBytes: number }[] = []
    for (let left = group.stays ? 0 : group.to - group.from; left > 0;) {
      const piece = written[next++]
      if (!piece) break
      own.push(piece)
      left -= piece.records
    }
    if (group.stays) own.push(group.stays)
    const last = joined.at(-1)
    const isSmall = endBytes + (own[0]?.recordBytes ?? Infinity) <= bytesMax
    if (last && isSmall && !(endStays && group.stays)) {
      joined.splice(-1, 1, { from: last.from, to: group.to })
      endStays = false
    } else {
      joined.push(group)
      endStays = group.stays !== undefined
    }
    endBytes = own.at(-1)?.recordBytes ?? Infinity
  }
  return joined
}

/** Those that do not stay, in one pass over what they are read from. */
async function writeGroups(
  { out, folder, place, row, run, parts, empty }: SeveralOptions,
  groups: readonly Group[],
  attempt: number,
): Promise<{ written: Piece[]; notes: readonly string[] }> {
  const isWritten: boolean[] = []
  const breaks = new Set<number>()
  let count = 0
  for (const { from, to, stays } of groups) {
    for (let at = from; at < to; at++) isWritten[at] = !stays
    if (stays) continue
    breaks.add(count)
    count += to - from
  }
  if (count === 0 && groups.some(({ stays }) => stays)) {
    return { written: [], notes: [] }
  }
  const nameOf = (number: number) => `${place}/${attempt}/${number}`
  const splitting: Splitting = {
    bytesMax: row.several?.bytesMax ?? Infinity,
    breaks,
    pathOf: (number) => join(out, folder, nameOf(number)),
  }
  const nothing: CutPart = { shard: empty, positions: [], ids: [], isOutput: true }
  const chosen = partsWith(parts, (at) => isWritten[at] === true)
  const copied = chosen.length > 0 ? chosen : [nothing]
  const { converted, name } = row
  const directory = join(out, folder, place)
  const { files, notes } = converted
    ? await convertParts(directory, { name, converted }, copied, run.reading, splitting)
    : await copyParts(directory, copied, writingOf(run), splitting)
  const written = files.map(({ records, recordBytes }, number) => {
    return { move: nameOf(number), records, recordBytes }
  })
  return { written, notes }
}

/** Parts with those of their records, counted over all parts, that are asked for. */
function partsWith(parts: readonly CutPart[], isAsked: (at: number) => boolean): CutPart[] {
  let before = 0
  const chosen: CutPart[] = []
  for (const part of parts) {
    const kept = [...part.ids.keys()].filter((at) => isAsked(before + at))
    before += part.ids.length
    const positions = kept.map((at) => part.positions[at] ?? 0)
    if (kept.length === 0) continue
    chosen.push({ ...part, positions, ids: kept.map((at) => part.ids[at] ?? '') })
  }
  return chosen
}

async function writeDocuments(options: SeveralOptions): Promise<SeveralWritten> {
  const { out, folder, place, row, run, held } = options
  const wanted = new Set(options.parts.flatMap((part) => part.ids))
  const inPlace = new Map<RecordId, HeldFile>()
  for (const file of held) {
    const [id] = file.ids
    if (id !== undefined && wanted.has(id) && file.presence === 'intact') inPlace.set(id, file)
  }
  const names = new DocumentNames()
  for (const { name } of inPlace.values()) names.take(name.slice(row.name.length + 1))
  const ids = options.parts.flatMap((part) => part.ids)
  const parts = partsWith(options.parts, (at) => !inPlace.has(ids[at] ?? ''))
  const staged = join(out, folder, place)
  const placed = new Map<RecordId, string>()
  const read = parts.filter(({ isOutput }) => !isOutput)
  const hasSources = run.reading?.fields?.source !== undefined
  const like = read[0]?.shard.file ?? ''
  const converted = read.map((part) => readAs(part, run.reading))
  const texts = await writeTexts(staged, converted, like, (one) => names.of(one, hasSources))
  for (const [at, id] of read.flatMap((part) => part.ids).entries()) placed.set(id, texts[at] ?? '')
  // What was saved is a file of its own, which has its name.
  for (const {
    shard,
    ids: [id = ''],
  } of parts.filter(({ isOutput }) => isOutput)) {
    const name = names.again(shard.path.slice(row.name.length + 1))
    await link(shard.file, join(staged, name))
    placed.set(id, name)
  }
  const files: OutputFile[] = []
  const lines: FileMove[] = []
  for (const id of ids) {
    const stays = inPlace.get(id)
    const name = placed.get(id) ?? ''
    const [move, to] = [`${place}/${name}`, `${row.name}/${name}`]
    const one = { records: 1, recordBytes: 0 }
    files.push(stays ?? { ...(await stagedFile(options, move, to)), ...one })
    if (!stays) lines.push({ move, to, shown: row.name })
  }
  return { files, ids, notes: [], lines: [...lines, ...goneOf(held, files)] }
}

async function stagedFile(
  { out, folder }: SeveralOptions,
  move: string,
  name: string,
): Promise<Pick<OutputFile, 'name' | 'bytes' | 'modifiedMs'>> {
  const { size: bytes, mtimeMs: modifiedMs } = await stat(join(out, folder, move))
  return { name, bytes, modifiedMs }
}

function goneOf(held: readonly OutputFile[], files: readonly OutputFile[]): FileRemoval[] {
  const names = new Set(files.map(({ name }) => name))
  return held.filter(({ name }) => !names.has(name)).map(({ name }) => ({ gone: name }))
}
