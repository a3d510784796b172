/**
 * The inputs of a run that redoes others: all that those have processed, in the order of the runs and of their inputs,
 * and behind them what is new. Each file once, where it was first, as it is now.
 *
 * Invariant: no document gets lost. A file that is gone or has changed since stops the run before anything is changed.
 */

import { stat } from '../../platform/files.ts'
import { resolve } from '../../platform/paths.ts'

import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { countOf } from '../../platform/units.ts'
import type { InputFile, Shard } from '../../input/index.ts'
import { readRun, type RunHead, type RunRow } from '../runs.ts'

export async function rowsOf(backend: Backend, runs: readonly RunHead[]): Promise<RunRow[]> {
  const rows: RunRow[] = []
  for (const run of runs) rows.push(await backend.read(readRun, run))
  return rows
}

export function filesOf(shards: readonly Shard[]): InputFile[] {
  return shards.flatMap((shard) => shard.files ?? [shard])
}

/** `given`: the inputs of this command, as they are now. */
export async function shardsAgain(
  runs: readonly RunRow[],
  given: readonly Shard[],
): Promise<Shard[]> {
  const now = new Map(filesOf(given).map((file) => [resolve(file.file), file]))
  const known = new Map<string, InputFile>()
  for (const file of filesOf(runs.flatMap(({ shards }) => shards))) {
    known.set(resolve(file.file), now.get(resolve(file.file)) ?? file)
  }
  await requireAsTheyWere([...known].flatMap(([file, was]) => (now.has(file) ? [] : [was])))
  const order = new Order(known, latestShards(runs, given))
  for (const shard of runs.flatMap(({ shards }) => shards)) order.addKnown(shard)
  for (const shard of given) order.addNew(shard)
  return order.shards
}

/** The ranges of each file, as it is given or was read last. */
function latestShards(
  runs: readonly RunRow[],
  given: readonly Shard[],
): ReadonlyMap<string, readonly Shard[]> {
  const latest = new Map<string, readonly Shard[]>()
  for (const shards of [...runs.map((run) => run.shards), given]) {
    const ranges = new Map<string, Shard[]>()
    for (const shard of shards) {
      const file = resolve(shard.file)
      if (!shard.files) ranges.set(file, [...(ranges.get(file) ?? []), shard])
    }
    for (const [file, all] of ranges) latest.set(file, all)
  }
  return latest
}

/** Shards in their order, each file once. */
class Order {
  readonly shards: Shard[] = []
  readonly #known: ReadonlyMap<string, InputFile>
  readonly #latest: ReadonlyMap<string, readonly Shard[]>
  readonly #seen = new Set<string>()

  constructor(
    known: ReadonlyMap<string, InputFile>,
    latest: ReadonlyMap<string, readonly Shard[]>,
  ) {
    this.#known = known
    this.#latest = latest
  }

  /** Names stay as they were: outputs and ids are made of them. */
  addKnown(shard: Shard): void {
    if (shard.files) {
      const files = this.#unseen(shard.files).map((one) => {
        const { file, fileBytes, modifiedMs } = this.#known.get(resolve(one.file)) ?? one
        return { file, path: one.path, fileBytes, modifiedMs }
      })
      this.#addGroup(shard, files)
    } else if (this.#unseen([shard]).length > 0) {
      const ranges = this.#latest.get(resolve(shard.file)) ?? []
      for (const range of ranges) this.#add({ ...range, path: shard.path })
    }
  }

  addNew(shard: Shard): void {
    if (shard.files) this.#addGroup(shard, this.#unseen(shard.files))
    else if (!this.#known.has(resolve(shard.file))) this.#add(shard)
  }

  #unseen<File extends InputFile>(files: readonly File[]): File[] {
    return files.filter(({ file }) => {
      const name = resolve(file)
      const isNew = !this.#seen.has(name)
      this.#seen.add(name)
      return isNew
    })
  }

  #addGroup(shard: Shard, files: readonly InputFile[]): void {
    const [first] = files
    if (!first) return
    const bytes = files.reduce((sum, { fileBytes }) => sum + fileBytes, 0)
    this.#add({ ...shard, ...first, files, end: files.length, bytes })
  }

  #add(shard: Shard): void {
    this.shards.push({ ...shard, index: this.shards.length })
  }
}

const PROBLEMS_SHOWN = 3

async function requireAsTheyWere(files: readonly InputFile[]): Promise<void> {
  const problems: string[] = []
  let code: 'FILE_NOT_FOUND' | 'INPUT_CHANGED' = 'INPUT_CHANGED'
  for (const { file, path, fileBytes, modifiedMs } of files) {
    const found = await stat(file).catch(() => undefined)
    if (found?.size === fileBytes && found.mtimeMs === modifiedMs) continue
    if (!found) code = 'FILE_NOT_FOUND'
    const isStdin = !found && /^stdin\.[a-z.]+$/.test(path)
    const what = found ? 'has changed since' : 'cannot be found any more'
    problems.push(isStdin ? 'what came from stdin is gone' : `${file} ${what}`)
  }
  if (problems.length === 0) return
  const more = problems.length - PROBLEMS_SHOWN
  const shown = problems.slice(0, PROBLEMS_SHOWN).join('; ')
  const rest = more > 0 ? `; and ${more} more` : ''
  throw new PrestigeError(
    code,
    `${countOf(problems.length, 'input')} of earlier runs would be needed, to write what is kept or to read it again: ${shown}${rest}. Nothing was changed. Put back what is missing, and name what has changed among the inputs of this command; or keep the earlier results and write to another directory: -o OTHER.`,
  )
}
