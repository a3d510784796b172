/**
 * `import DIR`: every regular file below a directory becomes a key.
 *
 * One bad file never hides what became of the others: it is reported and counted, and the exit code is 1.
 */

import { constants } from 'node:fs'
import { lstat, open, realpath, stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'

import type { PutItem, Store } from '../../index.ts'
import { ahead } from '../files/ahead.ts'
import {
  EXIT_FAILED,
  fileFailure,
  kindOf,
  reasonOf,
  systemCode,
  usageFailure,
} from '../call/failure.ts'
import { ImportReport } from '../import/import-report.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { print, printJson } from '../print/output.ts'
import { Notices, Progress } from '../print/progress.ts'
import { type FileRead, readFiles } from '../files/read-files.ts'
import { type Found, type Place, walk } from '../files/walk.ts'
import { locationOf, withStore } from '../call/with-store.ts'

const NOTICES_TOLD_MAX = 20
const COUNTED_AT_ONCE = 16
const HEAD_START_MS = 1000
const READ_BYTES = 1024 * 1024
/** As all files: a link put where it was is not followed. */
const LONG_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)

export async function run(invocation: Invocation): Promise<number> {
  if (invocation.flag('archive'))
    return (await import('../files/archive.ts')).importArchive(invocation)
  const root = await rootOf(invocation.operand(0))
  const report = new ImportReport(Date.now())
  const progress = Progress.of(invocation, 'file')
  try {
    await withStore(invocation, { create: true, durability: 'os' }, (store) =>
      new Import(invocation, report, progress, root).fill(store),
    )
  } finally {
    progress.end()
  }
  report.isStopped = invocation.signal.aborted
  report.end()
  if (invocation.flag('json')) await printJson(report.json())
  else if (!invocation.flag('quiet')) await print(report.text())
  return report.failed > 0 ? EXIT_FAILED : 0
}

async function rootOf(path: string): Promise<Buffer> {
  try {
    const root = await realpath(path, 'buffer')
    if ((await stat(root)).isDirectory()) return root
  } catch (error) {
    throw fileFailure(path, error)
  }
  throw usageFailure(`${path} is not a directory. For one file: prestige put KEY --file ${path}`)
}

class Import {
  readonly #invocation: Invocation
  readonly #report: ImportReport
  readonly #progress: Progress
  readonly #root: Buffer
  readonly #prefix: Buffer
  readonly #skips: Notices
  readonly #failures: Notices
  #isOver = false

  constructor(invocation: Invocation, report: ImportReport, progress: Progress, root: Buffer) {
    this.#invocation = invocation
    this.#report = report
    this.#progress = progress
    this.#root = root
    this.#prefix = Buffer.from(invocation.keyOption('prefix') ?? '')
    const isSilent = invocation.flag('json')
    this.#skips = new Notices(progress, isSilent || invocation.flag('quiet'), NOTICES_TOLD_MAX)
    this.#failures = new Notices(progress, isSilent, NOTICES_TOLD_MAX)
  }

  async fill(store: Store): Promise<void> {
    const own = await realpath(locationOf(this.#invocation), 'buffer').catch(() => undefined)
    if (own?.equals(this.#root)) throw usageFailure('A store cannot be imported into itself.')
    const counting = this.#progress.isShown ? this.#countAhead(own) : undefined
    if (counting)
      await Promise.race([counting, setTimeout(HEAD_START_MS, undefined, { ref: false })])
    try {
      await this.#putAll(store, readFiles(walk(this.#root, own)))
    } finally {
      this.#isOver = true
      await counting
    }
  }

  async #putAll(store: Store, files: AsyncIterable<FileRead>): Promise<void> {
    const long: Place[] = []
    for await (const outcome of store.putMany(this.#items(files, long))) {
      if (outcome.ok) this.#report.kept(Buffer.from(outcome.key), outcome.result)
      else this.#refused(Buffer.from(outcome.key), outcome.error)
      this.#progress.advance(outcome.ok ? outcome.result.bytes : 0)
    }
    for (const file of long) await this.#putLong(store, file)
  }

  /** One at a time: its chunks are written as they are read. */
  async #putLong(store: Store, { path, name }: Place): Promise<void> {
    const { signal } = this.#invocation
    if (signal.aborted) return
    const key = Buffer.concat([this.#prefix, name])
    let stream: Readable | undefined
    try {
      stream = (await open(path, LONG_FLAGS)).createReadStream({ highWaterMark: READ_BYTES })
      const receipt = await store.put(key, this.#counted(stream), { signal })
      this.#report.kept(key, receipt)
      this.#progress.advance(0)
    } catch (error) {
      if (signal.aborted) return
      if (kindOf(error) === undefined) this.#failed(name, reasonOf(error))
      else this.#refused(key, error instanceof Error ? error : new Error(String(error)))
    } finally {
      stream?.destroy()
    }
  }

  async *#counted(stream: Readable): AsyncGenerator<Buffer> {
    for await (const piece of stream) {
      yield piece
      this.#progress.advanceBytes(piece.length)
    }
  }

  /** Ends early when the user stops; what was taken by then is still put, and counted. */
  async *#items(files: AsyncIterable<FileRead>, long: Place[]): AsyncGenerator<PutItem> {
    for await (const file of files) {
      if (this.#invocation.signal.aborted) return
      const { name } = file
      if (file.kind === 'read')
        yield { key: Buffer.concat([this.#prefix, name]), value: file.value }
      else if (file.kind === 'long') long.push(file)
      else if (file.kind === 'failed') this.#failed(name, reasonOf(file.error))
      else this.#skipped(name, file.what)
    }
  }

  /** A file the store cannot take is one problem; a store that cannot take anything is the end. */
  #refused(key: Buffer, error: Error): void {
    const code = systemCode(error)
    const isOfTheFile =
      code === 'INVALID_KEY' || code === 'INVALID_VALUE' || code === 'UNREADABLE_VALUE'
    if (!isOfTheFile && kindOf(error) !== 'conflict') throw error
    this.#failed(key.subarray(this.#prefix.byteLength), error.message)
  }

  #failed(path: Buffer, reason: string): void {
    this.#report.problem({ path, reason })
    this.#failures.add(`not imported: ${notationOf(path) || '.'}: ${reason}`)
  }

  #skipped(name: Buffer, what: string): void {
    this.#report.skipped(what)
    this.#skips.add(`skipped: ${notationOf(name)}: ${what}`)
  }

  /**
   * A traversal that only counts, to estimate the time left. It has a head start, which is enough for most
   * directories, and goes on beside the import in those where it is not.
   */
  async #countAhead(own: Buffer | undefined): Promise<void> {
    let items = 0
    let bytes = 0
    const bounds = { itemsMax: COUNTED_AT_ONCE, weightMax: 0, weigh: () => 0 }
    for await (const found of ahead(walk(this.#root, own), bounds, bytesOf)) {
      if (this.#isOver || this.#invocation.signal.aborted) return
      if (found === undefined) continue
      items++
      bytes += found
    }
    this.#progress.expect({ items, bytes })
  }
}

async function bytesOf({ kind, path }: Found): Promise<number | undefined> {
  if (kind !== 'file') return undefined
  const found = await lstat(path).catch(() => undefined)
  return found?.size
}
