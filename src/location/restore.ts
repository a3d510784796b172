/**
 * Restores an archive of a resolver, a ledger or a job state at a location, on whatever engine.
 *
 * Invariant: until everything is there, the settings say that an import is unfinished, so nobody can open it. Restoring
 * the same archive again goes on; every step may be done twice.
 */

import {
  type Backend,
  cell,
  type Location,
  read,
  type Scope,
  type Space,
  type Transaction,
  withBackendAt,
} from '../backends/index.ts'
import { ArchiveReader, type ArchiveSource, brokenArchive } from '../platform/archive-stream.ts'
import { latin1 } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { PortableIndex } from '../match/index.ts'
import { kindNamed, settingsAt } from './kinds.ts'
import { rawOf, tallySpaces } from './rows.ts'
import type { StoredKind, StoredSettings } from './stored-kind.ts'

export interface RestoreLocationOptions {
  /** Default: the unnamed namespace. */
  readonly namespace?: string | undefined
  /** As for a store. Default of a directory: `fsync`. */
  readonly durability?: 'fsync' | 'os' | undefined
  /** Stops the import; the same archive can be imported again. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called with the bytes of every row. Default: none. */
  readonly onRow?: ((bytes: number) => void) | undefined
}

export interface RestoredLocation {
  readonly kind: StoredKind['kind']
  readonly rows: number
}

const UNFINISHED = 'unfinished import'
const ROW_BYTES_MAX = 64 * 1024 * 1024
const NAME_BYTES_MAX = 255
const LIMITS = { S: [1, NAME_BYTES_MAX], R: [2, ROW_BYTES_MAX] } as const
const BATCH_CELLS = 200
const BATCH_BYTES = 1024 * 1024
const BATCHES_AT_ONCE = 8

interface ArchivedRow {
  readonly space: Space<unknown>
  readonly key: Buffer
  readonly value: Buffer
}

/** Nothing of the kind may be there yet. Stores are restored with `restoreStore`. */
export async function restoreLocation(
  location: Location,
  source: ArchiveSource,
  { namespace, durability, signal, onRow }: RestoreLocationOptions = {},
): Promise<RestoredLocation> {
  const archive = await ArchiveReader.open(source)
  const kind = kindOf(archive)
  return withBackendAt(location, kind.spaces, { namespace, durability }, async (backend) => {
    const { archive: id, settings } = archive.header
    if (typeof settings !== 'object' || settings === null) throw brokenArchive('it has no settings')
    await begin(backend, kind, String(id))
    const target = new Target(backend, kind, { ...settings }, signal)
    let rows = 0
    for await (const row of rowsOf(archive, kind, () => rows)) {
      rows++
      await target.add(row)
      onRow?.(row.value.byteLength)
    }
    await target.finish()
    return { kind: kind.kind, rows }
  })
}

function kindOf({ version, header }: ArchiveReader): StoredKind {
  const kind = version === 2 ? kindNamed(header['kind']) : undefined
  if (kind) return kind
  throw new PrestigeError(
    'INVALID_USAGE',
    version === 1
      ? 'This is an archive of a store. Restore it with restoreStore, or prestige import --archive.'
      : `This is an archive of ${JSON.stringify(header['kind'])}, which this version of prestige does not know.`,
  )
}

async function* rowsOf(
  archive: ArchiveReader,
  kind: StoredKind,
  rows: () => number,
): AsyncGenerator<ArchivedRow> {
  let space: Space<unknown> | undefined
  for await (const record of archive.records(LIMITS, () => ({ rows: rows() }))) {
    const { body } = record
    if (record.kind === 'S') {
      space = kind.spaces.find(({ name }) => name === body.toString())
      if (!space)
        throw brokenArchive(`no ${kind.kind} has rows of ${JSON.stringify(body.toString())}`)
      continue
    }
    if (!space) throw brokenArchive('a row comes before its space')
    const end = 2 + body.readUInt16BE(0)
    if (end > body.byteLength) throw brokenArchive('a row is cut short')
    yield { space, key: body.subarray(2, end), value: body.subarray(end) }
  }
}

/** Marks the place as one that is being filled, unless something is there. */
async function begin(backend: Backend, kind: StoredKind, archive: string): Promise<void> {
  const found = await settingsAt(backend, kind.settings)
  if (found?.['format'] === UNFINISHED && found['archive'] === archive) return
  if (found || (await hasRows(backend, kind)))
    throw notEmpty(kind, found?.['format'] === UNFINISHED)
  await writeSettings(backend, kind, { format: UNFINISHED, archive })
}

async function hasRows(backend: Backend, { spaces }: StoredKind): Promise<boolean> {
  for (const space of spaces) {
    if (!space.ordered) continue
    for await (const _row of backend.scan(rawOf(space), { limit: 1 })) return true
  }
  return false
}

function writeSettings(
  backend: Backend,
  { settings, keptSettings }: StoredKind,
  value: StoredSettings,
): Promise<void> {
  return backend.run(function* (scope: Scope): Transaction<void> {
    scope.write(settings, keptSettings(value))
  })
}

function notEmpty({ kind }: StoredKind, isUnfinished: boolean): PrestigeError {
  const what = isUnfinished
    ? 'An import of another archive into this namespace is unfinished. Import that one again'
    : `There is a ${kind}, or rows of one, in this namespace already. An archive is imported into a place of its own: name another location`
  return new PrestigeError('TARGET_NOT_EMPTY', `${what}, or use another --namespace.`)
}

/** Writes rows in batches, several at once. */
class Target {
  readonly #backend: Backend
  readonly #kind: StoredKind
  readonly #settings: StoredSettings
  readonly #signal: AbortSignal | undefined
  readonly #sums = new Map<string, Map<string, number>>()
  readonly #cellsMax: number
  readonly #bytesMax: number
  readonly #pending = new Set<Promise<void>>()
  #batch: ArchivedRow[] = []
  #bytes = 0
  #indexes: readonly PortableIndex[] | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(
    backend: Backend,
    kind: StoredKind,
    settings: StoredSettings,
    signal: AbortSignal | undefined,
  ) {
    this.#backend = backend
    this.#kind = kind
    this.#settings = settings
    this.#signal = signal
    const { cellsMax, transactionBytesMax = BATCH_BYTES } = backend.limits
    this.#cellsMax = Math.min(cellsMax, BATCH_CELLS)
    this.#bytesMax = Math.min(transactionBytesMax, BATCH_BYTES)
  }

  async add(row: ArchivedRow): Promise<void> {
    this.#signal?.throwIfAborted()
    this.#requireRoom(row)
    const { space, key, value } = row
    if (space.kind === 'tallies') {
      const sums = this.#sums.get(space.name) ?? new Map<string, number>()
      this.#sums.set(space.name, sums.set(latin1(key), Number(space.codec.decode(value, key))))
      return
    }
    const bytes = key.byteLength + value.byteLength
    const isOther = this.#batch[0] !== undefined && this.#batch[0].space !== space
    const isFull = this.#batch.length >= this.#cellsMax || this.#bytes + bytes > this.#bytesMax
    if (isOther || isFull) await this.#flush()
    // Indexes come after everything else: how they are built may depend on it.
    if (isOther && this.#isIndex(space)) await this.#settle()
    this.#batch.push(row)
    this.#bytes += bytes
  }

  async finish(): Promise<void> {
    await this.#flush()
    await this.#settle()
    for (const space of tallySpaces(this.#kind)) await this.#restoreTallies(space)
    await writeSettings(this.#backend, this.#kind, this.#settings)
  }

  #isIndex(space: Space<unknown>): boolean {
    return space.name.endsWith('.representatives')
  }

  #requireRoom({ space, key, value }: ArchivedRow): void {
    const { keyBytesMax, valueBytesMax } = this.#backend.limits
    if (key.byteLength <= keyBytesMax && value.byteLength <= valueBytesMax) return
    throw new PrestigeError(
      'INVALID_VALUE',
      `A row of ${space.name} has ${key.byteLength + value.byteLength} bytes, and this engine takes keys of up to ${keyBytesMax} and values of up to ${valueBytesMax}. Import the archive into an engine with larger rows, such as a directory.`,
    )
  }

  async #flush(): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    this.#bytes = 0
    const [first] = batch
    if (!first) return
    if (!this.#isIndex(first.space)) return this.#start(() => this.#write(batch))
    const index = await this.#indexOf(first.space)
    // Elsewhere than in one's own process, each fills a bucket a band, which is all that a transaction takes.
    const together = this.#backend.serial ? batch.length : 1
    for (let at = 0; at < batch.length; at += together) {
      const part = batch.slice(at, at + together)
      await this.#start(() => this.#insert(index, part))
    }
  }

  /** A failure is kept for whoever starts or settles next. */
  async #start(work: () => Promise<void>): Promise<void> {
    if (this.#pending.size >= BATCHES_AT_ONCE) await Promise.race(this.#pending)
    this.#requireSuccess()
    const started = work()
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => this.#pending.delete(started))
    this.#pending.add(started)
  }

  async #settle(): Promise<void> {
    await Promise.all(this.#pending)
    this.#requireSuccess()
  }

  #requireSuccess(): void {
    if (this.#failure) throw this.#failure.error
  }

  #write(batch: readonly ArchivedRow[]): Promise<void> {
    return this.#backend.run(function* (scope: Scope): Transaction<void> {
      for (const { space, key, value } of batch) scope.write(cell(rawOf(space), key), value)
    })
  }

  #insert(index: PortableIndex, batch: readonly ArchivedRow[]): Promise<void> {
    const { codec } = index.spaces.representatives
    return this.#backend.run(function* (scope: Scope): Transaction<void> {
      for (const { key, value } of batch) {
        yield* index.restore(scope, key, codec.decode(Buffer.from(value), key))
      }
    })
  }

  async #indexOf({ name }: Space<unknown>): Promise<PortableIndex> {
    this.#indexes ??= await this.#kind.indexes(this.#backend, this.#settings)
    const found = this.#indexes.find(({ spaces }) => spaces.representatives.name === name)
    if (found) return found
    throw brokenArchive(`its settings have no index ${JSON.stringify(name)}`)
  }

  /** What is missing of each: some may have been added before the import was interrupted. */
  async #restoreTallies(space: Space<number>): Promise<void> {
    const wanted = new Map(this.#sums.get(space.name))
    for await (const { key, value } of this.#backend.scan(space)) {
      const name = latin1(key)
      wanted.set(name, (this.#sums.get(space.name)?.get(name) ?? 0) - value)
    }
    const missing = [...wanted].filter(([, delta]) => delta !== 0)
    // Few at once: an engine may spread each over several items.
    for (let at = 0; at < missing.length; at += 20) {
      const part = missing.slice(at, at + 20)
      await this.#backend.run(function* (scope: Scope): Transaction<void> {
        yield* read()
        for (const [name, delta] of part) scope.add(cell(space, Buffer.from(name, 'latin1')), delta)
      })
    }
  }
}
