/**
 * Names all input, cut into shards: the same inputs give the same shards in the same order.
 *
 * The order is the byte order of paths. A file that several patterns name is listed once. Names are below the
 * root: the nearest directory that all inputs have in common, unless the caller says another.
 */

import { createHash } from 'node:crypto'
import { openSync, readSync, closeSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { sep } from 'node:path'
import type { Readable } from 'node:stream'

import { PrestigeError } from '../platform/errors.ts'
import { readOptions } from '../platform/options.ts'
import { relative, resolve } from '../platform/paths.ts'
import { isS3 } from '../platform/s3/address.ts'
import type { Compression, InputFile, InputFormat, Shard } from './document.ts'
import { findFiles, type FoundFile, type Skipped } from './find-files.ts'
import { type FileKind, kindOfFile } from './formats.ts'
import { listingOptions, type ListingInput, type ListingOptions } from './options.ts'
import { spool, type Spooled } from './spool.ts'
import { rangesOf, wholeFile } from './ranges.ts'

export interface Listing {
  readonly shards: readonly Shard[]
  /** What lay below a directory or matched a glob and is no input, and why. */
  readonly skipped: readonly Skipped[]
  /** Changes when a file is added, removed or changed: shows whether a job can be resumed. */
  readonly digest: string
  /** Removes what was kept of stdin. The shards cannot be read afterwards. */
  close(): Promise<void>
}

/** An input with its name and its kind. */
interface Named extends InputFile, FileKind {}
type Draft = Omit<Shard, 'index'>

/** `isDone` returns whether nobody is going to read a file: such files are one shard each, whatever their size. */
export async function listShards(
  patterns: readonly string[],
  options: ListingInput = {},
  stdin: Readable = process.stdin,
  isDone: (file: InputFile) => boolean = () => false,
  signal?: AbortSignal,
): Promise<Listing> {
  const read = readOptions(listingOptions, options, 'listing')
  if (patterns.length === 0) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      'No inputs. Name files, directories or globs, or - for stdin.',
    )
  }
  const paths = patterns.filter((pattern) => pattern !== '-')
  const found = await findFiles(paths, read.followSymlinks)
  const spooled = patterns.includes('-') ? await spool(stdin, signal) : undefined
  try {
    const { named, skipped } = nameAll(found.files, rootOf(found.bases, read.root), read)
    if (spooled) named.push(await nameSpooled(spooled, read))
    requireInput(named, patterns, [...found.skipped, ...skipped])
    named.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
    const shards: Shard[] = []
    for await (const draft of cut(named, read, isDone))
      shards.push({ index: shards.length, ...draft })
    const all = [...found.skipped, ...skipped]
    return { shards, skipped: all, digest: digestOf(named), close: async () => spooled?.close() }
  } catch (error) {
    await spooled?.close()
    throw error
  }
}

function requireInput(
  named: readonly Named[],
  patterns: readonly string[],
  skipped: Skipped[],
): void {
  if (named.length > 0) return
  const [first] = skipped
  const example = first
    ? ` ${skipped.length} were passed over, such as ${first.file}: ${first.why}.`
    : ''
  const message = `There is no input in ${patterns.join(', ')}.${example} A format can be given for all files.`
  throw new PrestigeError('FILE_NOT_FOUND', message)
}

function rootOf(bases: readonly string[], asked: string | undefined): string {
  if (asked !== undefined) return resolve(asked)
  const [first = '', ...others] = bases
  const isOnS3 = isS3(first)
  if (others.some((other) => isS3(other) !== isOnS3)) throw mixedPlaces()
  const parts = first.split(isOnS3 ? '/' : sep)
  for (const other of others) {
    const theirs = other.split(isOnS3 ? '/' : sep)
    const same = parts.findIndex((part, at) => part !== theirs[at])
    if (same >= 0) parts.length = same
  }
  return isOnS3 ? parts.join('/') : parts.join(sep) || sep
}

function mixedPlaces(): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    'Local inputs and inputs on S3 have no common directory to name outputs below. Give them to two runs with the same --state.',
  )
}

function nameAll(
  files: readonly FoundFile[],
  root: string,
  options: ListingOptions,
): { named: Named[]; skipped: Skipped[] } {
  const named = new Map<string, Named>()
  const skipped: Skipped[] = []
  for (const { file, bytes, modifiedMs, etag, isNamed } of files) {
    const path = relative(root, resolve(file)).split(sep).join('/')
    const kind = kindOfFile(path, options.format)
    if (path.startsWith('../')) throw outsideRoot(file, root)
    if (kind)
      named.set(path, { file, path, fileBytes: bytes, modifiedMs, ...(etag && { etag }), ...kind })
    else if (isNamed) throw unknownKind(file)
    else skipped.push({ file, why: 'its extension is that of no known format' })
  }
  return { named: [...named.values()], skipped }
}

function outsideRoot(file: string, root: string): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    `${file} is not below the root ${root}. Name one above all inputs.`,
  )
}

function unknownKind(file: string): PrestigeError {
  const message = `The format of ${file} is not known from its extension. Give --format jsonl, csv, tsv, parquet, lines or files.`
  return new PrestigeError('INVALID_OPTIONS', message)
}

const EXTENSION_OF: Readonly<Record<InputFormat, string>> = {
  jsonl: 'jsonl',
  parquet: 'parquet',
  csv: 'csv',
  tsv: 'tsv',
  lines: 'txt',
  files: 'txt',
}
const ENDING_OF: Readonly<Record<Compression, string>> = { none: '', gzip: '.gz', zstd: '.zst' }

async function nameSpooled({ file }: Spooled, options: ListingOptions): Promise<Named> {
  const { size, mtimeMs } = await stat(file)
  const format = options.format === 'auto' ? 'jsonl' : options.format
  const compression = format === 'parquet' ? 'none' : compressionOf(file)
  const path = `stdin.${EXTENSION_OF[format]}${ENDING_OF[compression]}`
  return { file, path, fileBytes: size, modifiedMs: mtimeMs, format, compression }
}

/** Stdin has no extension, so its first bytes determine the format. */
function compressionOf(file: string): Compression {
  const first = Buffer.alloc(4)
  const fd = openSync(file, 'r')
  try {
    readSync(fd, first, 0, 4, 0)
  } finally {
    closeSync(fd)
  }
  if (first.readUInt16BE(0) === 0x1f8b) return 'gzip'
  return first.readUInt32LE(0) === 0xfd2fb528 ? 'zstd' : 'none'
}

/** What is done will not be read, so it is not looked at to be cut either. */
async function* cut(
  named: readonly Named[],
  options: ListingOptions,
  isDone: (file: InputFile) => boolean,
): AsyncGenerator<Draft> {
  let group: Named[] = []
  let groupBytes = 0
  for (const one of named) {
    const [first] = group
    const fits =
      group.length < options.shardFiles &&
      groupBytes + one.fileBytes <= options.shardBytes &&
      one.format === 'files' &&
      one.compression === first?.compression
    if (first && !fits) {
      yield groupShard(first, group, groupBytes)
      group = []
      groupBytes = 0
    }
    if (one.format === 'files') {
      group.push(one)
      groupBytes += one.fileBytes
    } else if (isDone(one)) yield wholeFile(one)
    else yield* rangesOf(one, options)
  }
  const [first] = group
  if (first) yield groupShard(first, group, groupBytes)
}

function groupShard(first: Named, group: readonly Named[], bytes: number): Draft {
  const files = group.map(({ file, path, fileBytes, modifiedMs, etag }) => ({
    file,
    path,
    fileBytes,
    modifiedMs,
    ...(etag && { etag }),
  }))
  return { ...first, start: 0, end: group.length, bytes, firstLine: 1, files }
}

function digestOf(named: readonly Named[]): string {
  const hash = createHash('sha256')
  for (const { path, fileBytes, modifiedMs, format, etag } of named) {
    const described = [path, fileBytes, modifiedMs, format, ...(etag ? [etag] : [])]
    hash.update(`${JSON.stringify(described)}\n`)
  }
  return hash.digest('hex')
}
