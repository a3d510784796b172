/**
 * `export DIR`: every key becomes a file.
 *
 * All keys are checked before anything is written. Keys that others put meanwhile are checked again when
 * their turn comes; one that cannot be written then is listed and counted, and the exit code is 1. So is a value that
 * is damaged in the store, and the exit code is 4.
 */

import { readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'

import type { Store } from '../../index.ts'
import { ahead } from '../files/ahead.ts'
import {
  EXIT_CORRUPT,
  EXIT_FAILED,
  Failure,
  fileFailure,
  kindOf,
  reasonOf,
  systemCode,
  usageFailure,
} from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { paint, print, printJson } from '../print/output.ts'
import { Notices, Progress } from '../print/progress.ts'
import { DirectoryCheck, unsafeReason } from '../files/safe-path.ts'
import { countOf, duration, rate, size } from '../print/units.ts'
import { READING, existingLocationOf, withStore } from '../call/with-store.ts'
import { FileWriter } from '../files/write-files.ts'

const UNSAFE_NAMED_MAX = 10
const NOTICES_TOLD_MAX = 20
const WRITES_MAX = 16
const WRITES_BYTES_MAX = 32 * 1024 * 1024
const PROBLEMS_KEPT_MAX = 1000

export async function run(invocation: Invocation): Promise<number> {
  if (invocation.flag('archive'))
    return (await import('../files/archive.ts')).exportArchive(invocation)
  if (invocation.text('kind') !== undefined) throw usageFailure('--kind is for --archive.')
  const directory = invocation.operand(0)
  await requireEmpty(directory, invocation.flag('overwrite'))
  const progress = Progress.of(invocation, 'file')
  const job = new Export(invocation, progress)
  try {
    await withStore(invocation, READING, (store) => job.write(store, directory))
  } finally {
    progress.end()
  }
  await job.report()
  return job.exitCode
}

async function requireEmpty(directory: string, overwrite: boolean): Promise<void> {
  try {
    const names = await readdir(directory)
    if (names.length === 0 || overwrite) return
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return
    throw fileFailure(directory, error)
  }
  throw new Failure(
    'invalid',
    'TARGET_NOT_EMPTY',
    `${directory} is not empty. Name another directory, or say --overwrite.`,
  )
}

/** With --overwrite a key called `data.mdb` could replace the store that is being read. */
async function requireApart(directory: string, location: string): Promise<void> {
  const target = await realpath(directory).catch(() => undefined)
  const store = await realpath(location).catch(() => undefined)
  if (!target || !store || !join(store, '/').startsWith(join(target, '/'))) return
  throw usageFailure(`The store is in ${directory}. Export to a directory of its own.`)
}

interface File {
  readonly name: Buffer
  readonly value: Buffer
  /** What is too long to be held is written as it is read. */
  readonly stream?: AsyncIterable<Uint8Array>
  /** Why it cannot be written. */
  readonly problem?: string
}

class Export {
  readonly #invocation: Invocation
  readonly #progress: Progress
  readonly #prefix: Buffer
  readonly #notices: Notices
  readonly #problems: { readonly key: Buffer; readonly reason: string }[] = []
  readonly #started = performance.now()
  #isCorrupt = false
  #files = 0
  #bytes = 0

  constructor(invocation: Invocation, progress: Progress) {
    this.#invocation = invocation
    this.#progress = progress
    this.#prefix = Buffer.from(invocation.keyOption('prefix') ?? '')
    this.#notices = new Notices(progress, invocation.flag('json'), NOTICES_TOLD_MAX)
  }

  get failed(): number {
    return this.#notices.count
  }

  get exitCode(): number {
    if (this.#isCorrupt) return EXIT_CORRUPT
    return this.failed > 0 ? EXIT_FAILED : 0
  }

  async write(store: Store, directory: string): Promise<void> {
    await requireApart(directory, existingLocationOf(this.#invocation))
    const items = await this.#checkAll(store)
    const { valueBytes } = await store.stats()
    if (this.#prefix.byteLength === 0) this.#progress.expect({ items, bytes: valueBytes })
    const writer = await FileWriter.open(directory, this.#invocation.flag('overwrite'))
    const bounds = { itemsMax: WRITES_MAX, weightMax: WRITES_BYTES_MAX, weigh: weightOf }
    try {
      const written = ahead(this.#filesOf(store, writer), bounds, (file) => writeOne(writer, file))
      for await (const file of written) this.#done(file)
    } finally {
      await writer.close()
    }
  }

  async report(): Promise<void> {
    const ms = performance.now() - this.#started
    const isStopped = this.#invocation.signal.aborted
    if (this.#invocation.flag('json')) {
      const counts = { files: this.#files, bytes: this.#bytes, failed: this.failed }
      const problems = this.#problems
      await printJson({ ...counts, problems, ms: Math.round(ms), isStopped })
    } else if (!this.#invocation.flag('quiet')) {
      const verb = isStopped ? paint('yellow', 'stopped after') : paint('green', 'exported')
      const what = `${countOf(this.#files, 'file')}, ${size(this.#bytes)}`
      const failed = this.failed > 0 ? `; ${this.failed} failed` : ''
      await print(`${verb} ${what} in ${duration(ms)}, ${rate(this.#bytes, ms)}${failed}\n`)
    }
  }

  /** Refuses by name what cannot be a file; otherwise the number of keys. */
  async #checkAll(store: Store): Promise<number> {
    const directories = new DirectoryCheck()
    const unsafe: string[] = []
    let unsafeCount = 0
    let keys = 0
    for await (const key of store.keys({ prefix: this.#prefix })) {
      this.#invocation.signal.throwIfAborted()
      keys++
      const reason = unsafeReason(this.#nameOf(key)) ?? inTheWay(directories.add(key))
      if (reason === undefined || ++unsafeCount > UNSAFE_NAMED_MAX) continue
      unsafe.push(`"${notationOf(key)}": ${reason}`)
    }
    if (unsafeCount === 0) return keys
    const more = unsafeCount > unsafe.length ? ` (and ${unsafeCount - unsafe.length} more)` : ''
    throw new Failure(
      'invalid',
      'INVALID_KEY',
      `Nothing was written, because ${countOf(unsafeCount, 'key')} cannot be a file here. ${unsafe.join('; ')}${more}. Use get, or --prefix to leave them out.`,
    )
  }

  async *#filesOf(store: Store, writer: FileWriter): AsyncGenerator<File> {
    for await (const key of store.keys({ prefix: this.#prefix })) {
      if (this.#invocation.signal.aborted) return
      const name = this.#nameOf(key)
      const value = await this.#valueOf(store, key)
      // Deleted since its key was listed.
      if (value === undefined) continue
      if (typeof value === 'string') {
        yield { name, value: Buffer.alloc(0), problem: value }
        continue
      }
      const problem = unsafeReason(name) ?? (await attempt(() => writer.makeRoom(name)))
      const file = { name, ...(problem !== undefined && { problem }) }
      if (Buffer.isBuffer(value)) yield { ...file, value }
      else yield { ...file, value: Buffer.alloc(0), stream: this.#counted(value) }
    }
  }

  /** One damaged value is one problem: the message that names it, and no file. */
  async #valueOf(
    store: Store,
    key: Buffer,
  ): Promise<Buffer | AsyncIterable<Uint8Array> | string | undefined> {
    try {
      return await store.get(key)
    } catch (error) {
      if (systemCode(error) === 'INVALID_USAGE')
        return store.getStream(key, { signal: this.#invocation.signal })
      if (kindOf(error) !== 'corrupt') throw error
      this.#isCorrupt = true
      return reasonOf(error)
    }
  }

  async *#counted(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of stream) {
      yield piece
      this.#bytes += piece.byteLength
      this.#progress.advanceBytes(piece.byteLength)
    }
  }

  #nameOf(key: Buffer): Buffer {
    return key.subarray(this.#prefix.byteLength)
  }

  #done({ name, value, problem }: File): void {
    this.#progress.advance(value.byteLength)
    if (problem === undefined) {
      this.#files++
      this.#bytes += value.byteLength
      return
    }
    const key = Buffer.concat([this.#prefix, name])
    if (this.#problems.length < PROBLEMS_KEPT_MAX) this.#problems.push({ key, reason: problem })
    this.#notices.add(`not exported: ${notationOf(key)}: ${problem}`)
  }
}

function inTheWay(directory: Buffer | undefined): string | undefined {
  return directory && `"${notationOf(directory)}" is a key too, and would have to be its directory`
}

function weightOf({ value }: File): number {
  return value.byteLength
}

async function writeOne(writer: FileWriter, file: File): Promise<File> {
  if (file.problem !== undefined) return file
  const problem = await attempt(() => writer.write(file.name, file.stream ?? file.value))
  return problem === undefined ? file : { ...file, problem }
}

async function attempt(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}
