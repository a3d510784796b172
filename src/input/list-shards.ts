/**
 * Names all input, cut into shards: the same inputs give the same shards in the same order.
 *
 * The order is that of the inputs, and below each the byte order of paths. A file that several inputs name is listed
 * once, under the first. Names are below the root: the nearest directory that all inputs have in common, unless the
 * caller says another.
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
import { findFiles, type Found, type FoundFile, type Skipped, sourceOfInput } from './find-files.ts'
import { type FileKind, kindOfFile } from './formats.ts'
import { jsonKindOf } from './json-kind.ts'
import { listingOptions, type ListingInput, type ListingOptions } from './options.ts'
import { spool, type Spooled } from './spool.ts'
import { rangesOf, wholeFile } from './ranges.ts'

/** An input under a name of its own. */
export interface NamedInput {
  /** A file, a directory, a glob, or `-` for stdin. */
  readonly path: string
  /** Source of the documents that name none. */
  readonly source: string
}

/** Why a file was passed over that a format would make readable. */
export const UNKNOWN_EXTENSION = 'its extension is that of no known format'

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
interface Named extends InputFile, FileKind {
  readonly source?: string
}
type Draft = Omit<Shard, 'index'>

/** `isDone` returns whether nobody is going to read a file: such files are one shard each, whatever their size. */
export async function listShards(
  inputs: readonly (string | NamedInput)[],
  options: ListingInput = {},
  stdin: Readable = process.stdin,
  isDone: (file: InputFile) => boolean = () => false,
  signal?: AbortSignal,
): Promise<Listing> {
  const read = readOptions(listingOptions, options, 'listing')
  if (inputs.length === 0) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      'No inputs. Name files, directories or globs, or - for stdin.',
    )
  }
  const found = await findAll(inputs, read.followSymlinks)
  const spooled = found.some(({ isStdin }) => isStdin) ? await spool(stdin, signal) : undefined
  try {
    const { named, skipped } = await nameAll(found, read, spooled, isDone)
    requireInput(named, inputs, skipped)
    const shards: Shard[] = []
    for await (const draft of cut(named, read, isDone))
      shards.push({ index: shards.length, ...draft })
    return { shards, skipped, digest: digestOf(named), close: async () => spooled?.close() }
  } catch (error) {
    await spooled?.close()
    throw error
  }
}

/** An input, and what was found under it. */
interface FoundInput extends Found {
  readonly source: string
  readonly isStdin: boolean
}

async function findAll(
  inputs: readonly (string | NamedInput)[],
  followSymlinks: boolean,
): Promise<FoundInput[]> {
  const found: FoundInput[] = []
  for (const input of inputs) {
    const path = typeof input === 'string' ? input : input.path
    const isStdin = path === '-'
    if (isStdin && found.some((other) => other.isStdin)) continue
    const source = typeof input === 'string' ? sourceOfInput(input) : input.source
    const files = await findFiles(isStdin ? [] : [path], followSymlinks)
    found.push({ ...files, source, isStdin })
  }
  return found
}

function requireInput(
  named: readonly Named[],
  inputs: readonly (string | NamedInput)[],
  skipped: readonly Skipped[],
): void {
  if (named.length > 0) return
  const [first] = skipped
  const example = first
    ? ` ${skipped.length} were passed over, such as ${first.file}: ${first.why}.`
    : ''
  const paths = inputs.map((input) => (typeof input === 'string' ? input : input.path))
  const message = `There is no input in ${paths.join(', ')}.${example} A format can be given for all files.`
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

/** Inputs in the order given, and what is below each in the byte order of paths. */
async function nameAll(
  found: readonly FoundInput[],
  options: ListingOptions,
  spooled: Spooled | undefined,
  isDone: (file: InputFile) => boolean,
): Promise<{ named: Named[]; skipped: Skipped[] }> {
  const bases = found.flatMap((one) => one.bases)
  const naming = new Naming(rootOf(bases, options.root), options, isDone)
  const isByArgument = options.sources === 'arguments'
  let named: Named[] = []
  for (const { files, source, isStdin, skipped } of found) {
    naming.skip(skipped)
    const own =
      isStdin && spooled ? [await nameSpooled(spooled, options)] : await naming.name(files)
    for (const one of own.toSorted(byPath)) named.push(isByArgument ? { ...one, source } : one)
  }
  if (!isByArgument) named = named.toSorted(byPath)
  return { named, skipped: [...naming.skipped.values()] }
}

function byPath(one: InputFile, other: InputFile): number {
  return Buffer.compare(Buffer.from(one.path), Buffer.from(other.path))
}

/** Names files below the root. A file that several inputs name belongs to the first. */
class Naming {
  readonly skipped = new Map<string, Skipped>()
  readonly #named = new Set<string>()
  readonly #root: string
  readonly #format: ListingOptions['format']
  readonly #isDone: (file: InputFile) => boolean

  constructor(root: string, { format }: ListingOptions, isDone: (file: InputFile) => boolean) {
    this.#root = root
    this.#format = format
    this.#isDone = isDone
  }

  skip(skipped: readonly Skipped[]): void {
    for (const one of skipped) this.skipped.set(resolve(one.file), one)
  }

  async name(files: readonly FoundFile[]): Promise<Named[]> {
    const named: Named[] = []
    for (const found of files) {
      const path = relative(this.#root, resolve(found.file)).split(sep).join('/')
      if (path.startsWith('../')) throw outsideRoot(found.file, this.#root)
      if (this.#named.has(path)) continue
      const kind = await this.#kindOf(found, path)
      if (!kind) continue
      this.#named.add(path)
      const { file, bytes, modifiedMs, etag } = found
      named.push({ file, path, fileBytes: bytes, modifiedMs, ...(etag && { etag }), ...kind })
    }
    return named
  }

  async #kindOf(found: FoundFile, path: string): Promise<FileKind | undefined> {
    const { file, bytes, modifiedMs, etag, isNamed } = found
    const kind = kindOfFile(path, this.#format)
    if (!kind && isNamed) throw unknownKind(file)
    if (!kind) this.skip([{ file, why: UNKNOWN_EXTENSION }])
    if (kind?.format !== 'json') return kind
    const input = { file, path, fileBytes: bytes, modifiedMs, ...(etag && { etag }) }
    return this.#isDone(input) ? kind : jsonKindOf(input, kind.compression)
  }
}

function outsideRoot(file: string, root: string): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    `${file} is not below the root ${root}. Name one above all inputs.`,
  )
}

function unknownKind(file: string): PrestigeError {
  const message = `The format of ${file} is not known from its extension. Give --format jsonl, json, csv, tsv, parquet, lines or files.`
  return new PrestigeError('INVALID_OPTIONS', message)
}

const EXTENSION_OF: Readonly<Record<InputFormat, string>> = {
  jsonl: 'jsonl',
  json: 'json',
  parquet: 'parquet',
  csv: 'csv',
  tsv: 'tsv',
  lines: 'txt',
  files: 'txt',
}
const ENDING_OF: Readonly<Record<Compression, string>> = { none: '', gzip: '.gz', zstd: '.zst' }

async function nameSpooled({ file }: Spooled, options: ListingOptions): Promise<Named> {
  const { size, mtimeMs } = await stat(file)
  const asked = options.format === 'auto' ? 'json' : options.format
  const compression = asked === 'parquet' ? 'none' : compressionIn(file)
  const input = { file, path: 'stdin', fileBytes: size, modifiedMs: mtimeMs }
  const { format } =
    asked === 'json' ? await jsonKindOf(input, compression, true) : { format: asked }
  const path = `stdin.${EXTENSION_OF[format]}${ENDING_OF[compression]}`
  return { ...input, path, format, compression }
}

/** Stdin has no extension, so its first bytes determine the format. */
function compressionIn(file: string): Compression {
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
      one.compression === first?.compression &&
      one.source === first.source &&
      one.isJson === first.isJson
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
