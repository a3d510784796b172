/**
 * Commits of one turn of the event loop go to the server together: one script judges them one after another,
 * each for itself. That is one request for dozens of transactions instead of one each.
 *
 * Sending again is safe. The server remembers the versions a session has applied until the session says that it
 * has heard of them, and takes a version it remembers for done. A version whose first sending may still be on its
 * way somewhere is never said to be heard of: it stays remembered until the set expires, an hour after the
 * session's last commit. No request waits nearly as long as that.
 */

import { type Bytes, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Space } from '../contract.ts'
import { cellName, type Write } from '../kit/draft.ts'
import type { Check, Commit, CommitOutcome, Versioned } from '../kit/optimistic.ts'
import { type Keys, type SpaceKeys, VERSION_BYTES } from './keys.ts'
import { GROUP_CELLS_MAX, OPERATION } from './scripts.ts'
import { Turn } from './turn.ts'

const VERSIONS_LIVE_MS = 3_600_000
const COMMITS_MAX = 64
const CELLS_MAX = 2000
const BYTES_MAX = 1024 * 1024
const KEYS_MAX = 200
const HEARD_MAX = 1000
/** How many versions of unknown fate are kept in mind; far more than can be sent again. */
const DOUBTFUL_MAX = 100_000

type Argument = Buffer | number
export type SendCommits = (keys: readonly Buffer[], args: readonly Argument[]) => Promise<unknown>

interface Waiting {
  readonly commit: Commit
  readonly cells: number
  readonly bytes: number
  readonly frees: boolean
  readonly done: (outcome: CommitOutcome) => void
  readonly failed: (error: unknown) => void
}

export class Commits {
  readonly #keys: Keys
  readonly #session: Buffer
  readonly #send: SendCommits
  readonly #turn = new Turn(() => this.#flush())
  #waiting: Waiting[] = []
  /** Versions whose outcome has arrived. */
  #heard: string[] = []
  /** Versions that were sent without an answer. */
  readonly #doubtful = new Set<string>()
  /** Commits that were applied, those that were not because something had changed, and the requests it took. */
  applied = 0
  refused = 0
  requests = 0

  constructor(keys: Keys, session: Buffer, send: SendCommits) {
    this.#keys = keys
    this.#session = session
    this.#send = send
  }

  /** Nothing that was sent can still arrive: the server may forget this session. */
  get isCertain(): boolean {
    return this.#doubtful.size === 0
  }

  commit(commit: Commit): Promise<CommitOutcome> {
    return new Promise((done, failed) => {
      const { checks, writes, additions } = commit
      for (const { space } of [...checks, ...writes, ...additions]) this.#keys.of(space)
      const cells = checks.length + writes.length + additions.length
      let bytes = 0
      for (const write of writes) bytes += write.key.byteLength + (write.bytes?.byteLength ?? 0)
      this.#waiting.push({ commit, cells, bytes, frees: freesMemory(commit), done, failed })
      this.#turn.take()
    })
  }

  #flush(): void {
    // What frees memory comes last: where a script begins with it, no write behind it would be refused.
    const waiting = this.#waiting.toSorted((one, other) => Number(one.frees) - Number(other.frees))
    this.#waiting = []
    let batch: Waiting[] = []
    let cells = 0
    let bytes = 0
    for (const one of waiting) {
      const isFull =
        batch.length >= COMMITS_MAX ||
        cells + one.cells > CELLS_MAX ||
        bytes + one.bytes > BYTES_MAX
      if (isFull && batch.length > 0) {
        void this.#sendBatch(batch)
        batch = []
        cells = 0
        bytes = 0
      }
      batch.push(one)
      cells += one.cells
      bytes += one.bytes
    }
    void this.#sendBatch(batch)
  }

  /** Never rejects: every commit hears of its own end. */
  async #sendBatch(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 0) return
    const heard = this.#heard.splice(0, HEARD_MAX)
    try {
      const request = new Request(this.#keys, this.#session)
      for (const { commit, frees } of batch) request.add(commit, frees)
      this.requests++
      const reply = await this.#send(request.keys, request.args(heard))
      batch.forEach((one, at) => this.#end(one, answerAt(reply, at)))
    } catch (error) {
      this.#heard.push(...heard)
      for (const { commit } of batch) this.#invalidate(commit.version)
      // One that cannot pass must not take the others with it.
      if (batch.length > 1 && !mayPass(error)) for (const one of batch) await this.#sendBatch([one])
      else for (const one of batch) one.failed(error)
    }
  }

  #end({ commit, done, failed }: Waiting, answer: unknown): void {
    const { version, checks } = commit
    const isWritten = commit.writes.length > 0 || commit.additions.length > 0
    if (answer === 1) {
      this.applied++
      if (isWritten && !this.#doubtful.has(version)) this.#heard.push(version)
      done({ applied: true })
      return
    }
    if (!Array.isArray(answer) || answer.length !== checks.length) {
      failed(
        new PrestigeError('BACKEND_UNAVAILABLE', 'The commit was answered with something odd.'),
      )
      return
    }
    this.refused++
    const fresh = new Map<string, Versioned | undefined>()
    checks.forEach(({ space, key }, at) => {
      fresh.set(cellName(space, key), versioned(answer[at], this.#keys.of(space), space))
    })
    done({ applied: false, fresh })
  }

  #invalidate(version: string): void {
    this.#doubtful.add(version)
    if (this.#doubtful.size <= DOUBTFUL_MAX) return
    for (const oldest of this.#doubtful) {
      this.#doubtful.delete(oldest)
      return
    }
  }
}

/** Whether all of a batch may pass if they are sent again as they are. */
function mayPass(error: unknown): boolean {
  return error instanceof PrestigeError && error.retryable && error.code !== 'BACKEND_FULL'
}

function answerAt(reply: unknown, at: number): unknown {
  return Array.isArray(reply) ? reply[at] : undefined
}

/** What a hash holds of a cell: version and value, or of a tally its sum, which is its own version. */
export function versioned(
  found: unknown,
  { isTally }: SpaceKeys,
  space: Space<unknown>,
): Versioned | undefined {
  if (found === null || found === undefined || found === false) return undefined
  if (!(found instanceof Buffer) || (!isTally && found.byteLength < VERSION_BYTES)) {
    throw new PrestigeError(
      'CONTENT_CORRUPT',
      `A row of ${space.name} is none that prestige has written. Run verify on this store.`,
    )
  }
  if (!isTally) {
    const version = found.toString('latin1', 0, VERSION_BYTES)
    return { bytes: found.subarray(VERSION_BYTES), version }
  }
  const version = latin1(found)
  return { bytes: space.codec.encode(Number(version)), version }
}

/** Cells of one space that follow each other are one call on the server. */
function inGroups<C extends { readonly space: Space<unknown> }>(cells: readonly C[]): C[][] {
  const groups: C[][] = []
  let last: C[] = []
  for (const cell of cells) {
    if (last[0]?.space.name === cell.space.name && last.length < GROUP_CELLS_MAX) last.push(cell)
    else {
      last = [cell]
      groups.push(last)
    }
  }
  return groups
}

/** The most that a row may hold which is replaced while memory is full, and nothing is removed for it. */
const REPLACED_BYTES_MAX = 128

/**
 * Such a commit is taken also when the memory of the server is full: at least as many rows go as come. A row that the
 * commit relies on is there already, so replacing it costs next to nothing: collecting marks a row before it removes it.
 */
function freesMemory({ writes, checks }: Commit): boolean {
  const sets = writes.filter(({ bytes }) => bytes !== undefined)
  const removed = writes.length - sets.length
  if (removed >= sets.length) return writes.length > 0
  const isSmall = sets.every(({ bytes }) => (bytes?.byteLength ?? 0) <= REPLACED_BYTES_MAX)
  if (removed === 0 && !isSmall) return false
  const there = new Set<string>()
  for (const { space, key, version } of checks) {
    if (version !== undefined) there.add(cellName(space, key))
  }
  const added = sets.filter(({ space, key }) => !there.has(cellName(space, key)))
  return removed >= added.length
}

/** One call of the commit script in the making. */
class Request {
  readonly keys: Buffer[]
  readonly #spaces: Keys
  readonly #numbers = new Map<SpaceKeys, number>()
  readonly #plan: number[] = []
  readonly #versions: Buffer[] = []
  readonly #cells: Argument[] = []

  constructor(spaces: Keys, session: Buffer) {
    this.#spaces = spaces
    this.keys = [session]
  }

  add({ version, checks, writes, additions }: Commit, frees: boolean): void {
    const begin = this.#plan.length
    const bytes = Buffer.from(version, 'latin1')
    this.#versions.push(bytes)
    this.#plan.push(OPERATION.begin, frees ? 1 : 0, 0, 0, 0)
    for (const group of inGroups(checks)) this.#check(group)
    if (frees) this.#remove(writes)
    this.#set(writes, bytes)
    if (!frees) this.#remove(writes)
    for (const group of inGroups(additions)) {
      this.#group(OPERATION.add, group)
      for (const { key, delta } of group) this.#cells.push(asArgument(key), delta)
    }
    const groups = (this.#plan.length - begin) / 5 - 1
    this.#plan[begin + 3] = groups >> 8
    this.#plan[begin + 4] = groups & 255
  }

  #set(writes: readonly Write[], version: Buffer): void {
    for (const group of inGroups(writes.filter(({ bytes }) => bytes !== undefined))) {
      this.#group(OPERATION.set, group)
      for (const { key, bytes } of group) {
        this.#cells.push(asArgument(key), concatenated(version, bytes))
      }
    }
  }

  #remove(writes: readonly Write[]): void {
    if (writes.every(({ bytes }) => bytes !== undefined)) return
    for (const group of inGroups(writes.filter(({ bytes }) => bytes === undefined))) {
      this.#group(OPERATION.remove, group)
      for (const { key } of group) this.#cells.push(asArgument(key))
    }
  }

  args(heard: readonly string[]): Argument[] {
    return [
      Buffer.from(this.#plan),
      VERSIONS_LIVE_MS,
      this.#versions.length,
      ...this.#versions,
      heard.length,
      ...heard.map((version) => Buffer.from(version, 'latin1')),
      ...this.#cells,
    ]
  }

  #check(group: readonly Check[]): void {
    const [{ space } = { space: undefined }] = group
    const isTally = space?.kind === 'tallies'
    this.#group(isTally ? OPERATION.checkTallies : OPERATION.checkRows, group)
    for (const { key } of group) this.#cells.push(asArgument(key))
    for (const { version = '' } of group) this.#cells.push(Buffer.from(version, 'latin1'))
  }

  #group(operation: number, group: readonly { readonly space: Space<unknown> }[]): void {
    const [first] = group
    if (first === undefined) return
    const keys = this.#spaces.of(first.space)
    const isOrdered = keys.order === undefined ? 0 : 1
    this.#plan.push(operation, this.#number(keys), isOrdered, group.length >> 8, group.length & 255)
  }

  #number(keys: SpaceKeys): number {
    const known = this.#numbers.get(keys)
    if (known !== undefined) return known
    const { rows, order } = keys
    this.keys.push(rows)
    const number = this.keys.length
    if (order) this.keys.push(order)
    if (number > KEYS_MAX)
      throw new PrestigeError('BODY_MISUSE', 'A transaction here touches at most 100 spaces.')
    this.#numbers.set(keys, number)
    return number
  }
}

/** The same memory: it has to stay as it is until the transaction has ended. */
function asArgument(bytes: Bytes): Buffer {
  return bytes instanceof Buffer
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function concatenated(version: Buffer, value: Bytes | undefined): Buffer {
  const row = Buffer.allocUnsafe(VERSION_BYTES + (value?.byteLength ?? 0))
  row.set(version)
  if (value) row.set(value, VERSION_BYTES)
  return row
}
