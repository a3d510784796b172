/**
 * Names of outputs. The root that they are below is fixed by the first run that writes to a directory; an input
 * outside it is named by the directories in which the two differ. An input that has an output keeps its name for ever,
 * whatever else is given with it, and no two inputs have the same.
 */

import { lstat } from '../../platform/files.ts'
import { sep } from 'node:path'

import type { Backend } from '../../backends/index.ts'
import { dirname, join, relative, resolve } from '../../platform/paths.ts'
import { isS3 } from '../../platform/s3/address.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  convertedName,
  type InputFile,
  numberedName,
  outputName,
  type OutputFormat,
  type Shard,
} from '../../input/index.ts'
import { outputsIn, type OutputRow, type OutputSettings, readSettings } from './output-rows.ts'

/** How outputs are asked for, as far as anything is said about it. */
export interface AskedOutputs {
  readonly formatOut?: OutputFormat | undefined
  readonly shardSize?: number | undefined
}

/**
 * The shards under the names that their outputs have in this directory. `isOpen`: a run is under way, which has set
 * how they are written.
 */
export async function nameShards(
  backend: Backend,
  out: string,
  shards: readonly Shard[],
  asked: AskedOutputs,
  isOpen: boolean,
): Promise<{ readonly shards: readonly Shard[]; readonly settings: OutputSettings }> {
  const outputs = await outputsIn(backend, out)
  const known = await backend.read(readSettings, out)
  const settings = settingsFor(out, known, shards, asked, isOpen || outputs.size > 0)
  const names = new Names(settings, outputs.values())
  const renamed = shards.map((shard) => {
    if (!shard.files) return Object.assign({}, shard, names.of(shard, shard))
    const files = shard.files.map((file) => Object.assign({}, file, names.of(file, shard)))
    return Object.assign({}, shard, { path: files[0]?.path ?? shard.path, files })
  })
  return { shards: renamed, settings }
}

/** What the first run has set holds for all, once it has outputs. */
function settingsFor(
  out: string,
  known: OutputSettings | undefined,
  shards: readonly Shard[],
  { formatOut, shardSize }: AskedOutputs,
  isUsed: boolean,
): OutputSettings {
  const isNew = !known || !isUsed
  const format = formatOut ?? known?.format ?? 'same'
  const shardBytes = shardSize ?? known?.shardBytes
  if (!isNew && format !== known.format) {
    throw differs(out, '--format-out', known.format, format)
  }
  if (!isNew && shardBytes !== known.shardBytes) {
    const before = known.shardBytes === undefined ? undefined : sizeTyped(known.shardBytes)
    throw differs(out, '--shard-size', before, sizeTyped(shardBytes ?? 0))
  }
  if (shardBytes !== undefined) requireSplittable(format, shards)
  if (!isNew) return known
  return { root: rootOf(shards), format, ...(shardBytes !== undefined && { shardBytes }) }
}
function differs(
  out: string,
  option: string,
  before: string | undefined,
  now: string,
): PrestigeError {
  const how = before === undefined ? `without ${option}` : `with ${option} ${before}`
  const what = before === undefined ? 'Leave it out' : `Give ${option} ${before}, or leave it out`
  return new PrestigeError(
    'SETTINGS_MISMATCH',
    `The outputs in ${shown(out)} are written ${how}, and this call asks for ${now}. ${what}; or write to another directory with a state of its own: -o OTHER.`,
  )
}

/** As it can be typed: `256MB`. */
function sizeTyped(bytes: number): string {
  const units = [
    ['GiB', 1024 ** 3],
    ['GB', 1e9],
    ['MiB', 1024 ** 2],
    ['MB', 1e6],
    ['KiB', 1024],
    ['KB', 1000],
  ] as const
  const [unit, factor] = units.find(([, one]) => bytes % one === 0) ?? ['', 1]
  return `${bytes / factor}${unit}`
}

/** Whether outputs in this format can be several files of a bounded size. */
function requireSplittable(format: OutputFormat, shards: readonly Shard[]): void {
  if (format === 'files') {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      '--shard-size has no effect with --format-out files, which writes a file for each document. Leave one of them out.',
    )
  }
  const json = shards.find((shard) => shard.format === 'json')
  if (format !== 'same' || !json) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `--shard-size cannot split JSON files (${shown(json.file)}). Give --format-out jsonl, or leave --shard-size out; both are set by the first run to a directory.`,
  )
}

/** Of the names that the shards have: of stdin there is none. */
export function rootOf(shards: readonly Shard[]): string {
  for (const shard of shards) {
    const { file, path } = shard.files?.[0] ?? shard
    const root = rootAbove(file, path)
    if (root !== undefined) return root
  }
  return resolve('')
}

function rootAbove(file: string, path: string): string | undefined {
  const whole = resolve(file)
  const below = path.split('/').join(sep)
  if (!whole.endsWith(sep + below)) return undefined
  return whole.slice(0, -below.length - 1) || sep
}

interface FileNames {
  readonly path: string
  readonly output?: string
}

/** Names that are taken, and directories that lead to them. */
class Names {
  readonly #settings: OutputSettings
  readonly #known = new Map<string, FileNames>()
  readonly #taken = new Set<string>()
  readonly #folders = new Set<string>()

  constructor(settings: OutputSettings, outputs: Iterable<OutputRow>) {
    this.#settings = settings
    for (const { input, path, name, converted } of outputs) {
      this.#known.set(input, { path, ...(converted && { output: name }) })
      this.#take(name)
    }
  }

  of({ file, path }: InputFile, kind: Pick<Shard, 'format' | 'compression'>): FileNames {
    const input = resolve(file)
    const known = this.#known.get(input)
    if (known !== undefined) return known
    const { format } = this.#settings
    const wanted = this.#wanted(input, path)
    for (let number = 1; ; number++) {
      const next = number === 1 ? wanted : numbered(wanted, number)
      const { format: own, compression } = kind
      const same = outputName({ format: own, compression, path: next })
      const name = format === 'same' ? same : convertedName(next, format, own === 'files')
      if (!this.#isFree(name)) continue
      this.#take(name)
      const names = { path: next, ...(format !== 'same' && { output: name }) }
      this.#known.set(input, names)
      return names
    }
  }

  #wanted(input: string, path: string): string {
    // Stdin is a file of its own, whose place says nothing.
    if (rootAbove(input, path) === undefined) return path
    if (isS3(input) && !sharesBucket(this.#settings.root, input)) return input.slice('s3://'.length)
    if (isS3(this.#settings.root) && !isS3(input)) return path
    let above = this.#settings.root
    while (!isBelow(above, input)) above = dirname(above)
    return relative(above, input).split(sep).join('/')
  }

  #isFree(name: string): boolean {
    if (this.#taken.has(name) || this.#folders.has(name)) return false
    return !foldersOf(name).some((folder) => this.#taken.has(folder))
  }

  #take(name: string): void {
    this.#taken.add(name)
    for (const folder of foldersOf(name)) this.#folders.add(folder)
  }
}

/** Of two paths of which the second is on S3. */
function sharesBucket(one: string, other: string): boolean {
  const bucketOf = (path: string) => path.split('/', 3).join('/')
  return isS3(one) && bucketOf(one) === bucketOf(other)
}

function isBelow(directory: string, file: string): boolean {
  return directory === dirname(directory) || file.startsWith(directory + sep)
}

function foldersOf(name: string): string[] {
  const parts = name.split('/')
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'))
}

/** `b/part.jsonl` → `b~2/part.jsonl`, `part.jsonl.gz` → `part~2.jsonl.gz`. */
function numbered(path: string, number: number): string {
  const [first = '', ...rest] = path.split('/')
  if (rest.length > 0) return [`${first}~${number}`, ...rest].join('/')
  const dot = first.indexOf('.', 1)
  const stem = dot < 0 ? first : first.slice(0, dot)
  return `${stem}~${number}${first.slice(stem.length)}`
}

/**
 * What lies where an output would go, and was not written by a run of this state, is never written over: it may be the
 * output of another state. `outputs`: those that the state has.
 */
export async function requireUnused(
  out: string,
  shards: readonly Shard[],
  outputs: ReadonlyMap<string, OutputRow>,
  { shardBytes }: OutputSettings,
): Promise<void> {
  for (const shard of shards) {
    for (const { file, path, output } of shard.files ?? [shard]) {
      if (outputs.has(resolve(file))) continue
      const whole = output ?? outputName({ ...shard, path })
      const isSplit = shardBytes !== undefined && !shard.files
      const target = join(out, 'kept', isSplit ? numberedName(whole, 0) : whole)
      const found = await lstat(target).catch(() => undefined)
      if (!found) continue
      throw new PrestigeError(
        'TARGET_NOT_EMPTY',
        `${shown(target)} would be replaced by the output of ${shown(file)}, and no run of this state has written it. Nothing was decided or written. If another state writes to ${shown(out)}, give it with --state; else write to another directory (-o OTHER), or remove ${shown(join(out, 'kept'))}.`,
      )
    }
  }
}

/** Relative to the working directory where it is below it. */
export function shown(path: string): string {
  const way = relative('', path)
  return way === '' || way.startsWith('..') ? path : way
}
