/**
 * Verifies a resolver, a ledger or a job state: every row can be read, what a row refers to is there, indexes find what
 * they should, tallies are right. A store has a verification of its own, which can repair.
 *
 * Works beside others that write: a row and what it refers to are read at one moment.
 */

import {
  type Backend,
  cell,
  type Location,
  read,
  type Space,
  withBackendAt,
} from '../backends/index.ts'
import { type Bytes, latin1 } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { PortableIndex } from '../match/index.ts'
import { damagedPages } from '../store/index.ts'
import { allSpaces, readingOf, settingsAt, storedKinds } from './kinds.ts'
import { rawOf, tallySpaces } from './rows.ts'
import type { KindName, RowCheck, StoredKind, StoredSettings } from './stored-kind.ts'

export interface VerifyLocationOptions {
  /** Default: the unnamed namespace. */
  readonly namespace?: string | undefined
  /** Stops the verification. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called now and then with the rows and bytes read so far. Default: none. */
  readonly onProgress?:
    | ((progress: { readonly rows: number; readonly bytes: number }) => void)
    | undefined
}

/** Public names: renaming one is a breaking change. */
export type LocationProblemKind =
  | 'page-damaged'
  | 'space-unreadable'
  | 'row-unreadable'
  /** Something that the row refers to is not there, or says otherwise. */
  | 'reference-broken'
  /** Searches would not find it, or would find what is gone. */
  | 'index-wrong'
  | 'tallies-wrong'

export interface LocationProblem {
  readonly kind: LocationProblemKind
  readonly space?: string | undefined
  readonly key?: Buffer | undefined
  readonly message: string
}

export interface LocationReport {
  readonly kind: Exclude<KindName, 'store'>
  readonly rows: number
  /** The first thousand. */
  readonly problems: readonly LocationProblem[]
  readonly problemCount: number
  /** What could not be checked, and why. */
  readonly notes: readonly string[]
  readonly isSound: boolean
}

const PROBLEMS_MAX = 1000
const CHECKS_AT_ONCE = 64

/** A report of each resolver, ledger and job state of a namespace. */
export async function verifyLocation(
  location: Location,
  { namespace, ...options }: VerifyLocationOptions = {},
): Promise<LocationReport[]> {
  const how = { namespace, ...readingOf(location) }
  return withBackendAt(location, allSpaces, how, async (backend) => {
    const found: Verification[] = []
    for (const kind of storedKinds) {
      const verification = new Verification(backend, kind, options)
      if (await verification.begin()) found.push(verification)
    }
    const pages =
      found.length > 0 && typeof location === 'string' ? await damagedPages(location) : []
    for (const verification of found) {
      for (const { message } of pages) verification.add({ kind: 'page-damaged', message })
      await verification.run()
    }
    return found.map((verification) => verification.report())
  })
}

class Verification {
  readonly #backend: Backend
  readonly #kind: StoredKind
  readonly #options: Omit<VerifyLocationOptions, 'namespace'>
  readonly #problems: LocationProblem[] = []
  readonly #notes: string[] = []
  readonly #expected = new Map<string, number>()
  #settings: StoredSettings | undefined
  #problemCount = 0
  #rows = 0
  #bytes = 0

  constructor(
    backend: Backend,
    kind: StoredKind,
    options: Omit<VerifyLocationOptions, 'namespace'>,
  ) {
    this.#backend = backend
    this.#kind = kind
    this.#options = options
  }

  add(problem: LocationProblem): void {
    this.#problemCount++
    if (this.#problems.length < PROBLEMS_MAX) this.#problems.push(problem)
  }

  report(): LocationReport {
    return {
      kind: this.#kind.kind,
      rows: this.#rows,
      problems: this.#problems,
      problemCount: this.#problemCount,
      notes: this.#notes,
      isSound: this.#problemCount === 0,
    }
  }

  /** Whether there is one. Settings that cannot be read are a problem of it. */
  async begin(): Promise<boolean> {
    const { settings, isOwn } = this.#kind
    await this.#unlessUnreadable(settings.space, async () => {
      const found = await settingsAt(this.#backend, settings)
      if (found && (isOwn?.(found) ?? true)) this.#settings = found
    })
    return this.#settings !== undefined || this.#problemCount > 0
  }

  async run(): Promise<void> {
    if (!this.#settings) return
    const indexes = await this.#kind.indexes(this.#backend, this.#settings)
    const before = await this.#tallies()
    for (const space of this.#kind.spaces) {
      if (space.kind === 'rows')
        await this.#unlessUnreadable(space, () => this.#space(space, indexes))
    }
    await this.#compareTallies(before)
  }

  async #unlessUnreadable(space: Space<unknown>, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!isCorrupt(error)) throw error
      this.add({ kind: 'space-unreadable', space: space.name, message: error.message })
    }
  }

  async #space(space: Space<unknown>, indexes: readonly PortableIndex[]): Promise<void> {
    const checks = this.#kind.checks.filter((check) => check.space === space)
    const ofIndex = indexChecks(space, indexes)
    let batch: Promise<void>[] = []
    for await (const { key, value } of this.#backend.scan(rawOf(space))) {
      this.#options.signal?.throwIfAborted()
      this.#rows++
      this.#bytes += key.byteLength + value.byteLength
      if (this.#rows % 1000 === 0) this.#tell()
      const row = this.#decoded(space, key, value)
      if (row === undefined) continue
      this.#count(space, key, row.value)
      for (const check of checks) batch.push(this.#check(check, key, 'reference-broken'))
      for (const check of ofIndex) batch.push(this.#check(check, key, 'index-wrong'))
      if (batch.length < CHECKS_AT_ONCE) continue
      await Promise.all(batch)
      batch = []
    }
    await Promise.all(batch)
    this.#tell()
  }

  #tell(): void {
    this.#options.onProgress?.({ rows: this.#rows, bytes: this.#bytes })
  }

  #decoded(
    space: Space<unknown>,
    key: Buffer,
    value: Bytes,
  ): { readonly value: unknown } | undefined {
    try {
      return { value: space.codec.decode(Buffer.from(value), key) }
    } catch (error) {
      if (!isCorrupt(error)) throw error
      this.add({ kind: 'row-unreadable', space: space.name, key, message: error.message })
      return undefined
    }
  }

  /** The row is read again, at one moment with all it refers to. */
  async #check(check: RowCheck, key: Buffer, kind: LocationProblemKind): Promise<void> {
    const { space } = check
    try {
      const wrong = await this.#backend.read(function* () {
        const [now] = yield* read(cell(space, key))
        if (now === undefined) return undefined
        return yield* check.check(key, now as never) // safe: a check is of the rows of its space
      })
      if (wrong) this.add({ kind, space: space.name, key, message: wrong })
    } catch (error) {
      if (!isCorrupt(error)) throw error
      this.add({ kind, space: space.name, key, message: error.message })
    }
  }

  #count(space: Space<unknown>, key: Buffer, value: unknown): void {
    for (const check of this.#kind.tallyChecks) {
      if (check.space !== space) continue
      // safe: as above
      for (const [tally, delta] of check.counts(key, value as never)) {
        const name = `${check.tallies.name} ${latin1(tally)}`
        this.#expected.set(name, (this.#expected.get(name) ?? 0) + delta)
      }
    }
  }

  async #tallies(): Promise<Map<string, number>> {
    const found = new Map<string, number>()
    for (const space of tallySpaces(this.#kind)) {
      await this.#unlessUnreadable(space, async () => {
        for await (const { key, value } of this.#backend.scan(space)) {
          if (this.#kind.tallyChecks.some((check) => check.tallies === space && check.owns(key)))
            found.set(`${space.name} ${latin1(key)}`, value)
        }
      })
    }
    return found
  }

  /** Rows and tallies are counted at different moments, so tallies that change meanwhile prove nothing. */
  async #compareTallies(before: ReadonlyMap<string, number>): Promise<void> {
    const after = await this.#tallies()
    let changed = 0
    for (const name of new Set([...before.keys(), ...after.keys(), ...this.#expected.keys()])) {
      const [found = 0, was = 0] = [after.get(name), before.get(name)]
      const expected = this.#expected.get(name) ?? 0
      if (found !== was) changed++
      else if (found !== expected) {
        const message = `A tally is ${found}, and its rows are ${expected}`
        this.add({ kind: 'tallies-wrong', space: name.split(' ')[0], message })
      }
    }
    if (changed > 0)
      this.#notes.push(`${changed} tallies were not checked: they changed meanwhile.`)
  }
}

/** What must hold of the rows of an index. */
function indexChecks(space: Space<unknown>, indexes: readonly PortableIndex[]): RowCheck[] {
  return indexes.flatMap((index): RowCheck[] => {
    const { representatives, journal, buckets } = index.spaces
    if (space === representatives) return [{ space, check: index.check }]
    if (space === journal) return [{ space, check: index.checkJournal }]
    return space === buckets ? [{ space, check: index.checkBucket }] : []
  })
}

function isCorrupt(error: unknown): error is PrestigeError {
  return error instanceof PrestigeError && error.kind === 'corrupt'
}
