/**
 * Names of outputs. The root that they are below is fixed by the first run that writes to a directory; an input
 * outside it is named by the directories in which the two differ. An input that has an output keeps its name for ever,
 * whatever else is given with it, and no two inputs have the same.
 */

import { lstat } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'

import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { type InputFile, outputName, type Shard } from '../../input/index.ts'
import { outputsIn, type OutputRow, readRoot } from './output-rows.ts'

export interface NamedShards {
  readonly shards: readonly Shard[]
  readonly root: string
}

/** The shards under the names that their outputs have in this directory. */
export async function nameShards(
  backend: Backend,
  out: string,
  shards: readonly Shard[],
): Promise<NamedShards> {
  const outputs = await outputsIn(backend, out)
  const root = (await backend.read(readRoot, out)) ?? rootOf(shards)
  const names = new Names(root, outputs.values())
  const renamed = shards.map((shard) => {
    if (!shard.files) return { ...shard, path: names.of(shard, shard) }
    const files = shard.files.map((file) => ({ ...file, path: names.of(file, shard) }))
    return { ...shard, path: files[0]?.path ?? shard.path, files }
  })
  return { shards: renamed, root }
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

/** Names that are taken, and directories that lead to them. */
class Names {
  readonly #root: string
  readonly #paths = new Map<string, string>()
  readonly #taken = new Set<string>()
  readonly #folders = new Set<string>()

  constructor(root: string, outputs: Iterable<OutputRow>) {
    this.#root = root
    for (const { input, path, name } of outputs) {
      this.#paths.set(input, path)
      this.#take(name)
    }
  }

  of({ file, path }: InputFile, kind: Pick<Shard, 'format' | 'compression'>): string {
    const input = resolve(file)
    const known = this.#paths.get(input)
    if (known !== undefined) return known
    const wanted = this.#wanted(input, path)
    for (let number = 1; ; number++) {
      const next = number === 1 ? wanted : numbered(wanted, number)
      const name = outputName({ ...kind, path: next })
      if (!this.#isFree(name)) continue
      this.#take(name)
      this.#paths.set(input, next)
      return next
    }
  }

  #wanted(input: string, path: string): string {
    // Stdin is a file of its own, whose place says nothing.
    if (rootAbove(input, path) === undefined) return path
    let above = this.#root
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
): Promise<void> {
  for (const shard of shards) {
    for (const { file, path } of shard.files ?? [shard]) {
      if (outputs.has(resolve(file))) continue
      const target = join(out, 'kept', outputName({ ...shard, path }))
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
