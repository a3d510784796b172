/**
 * Which of the processes that share a store collects in the background. Only one needs to: collecting is safe in any
 * number of them, but each would do the same work. A lease ends by its time, so a process that dies leaves nothing to
 * clean up.
 */

import {
  type Backend,
  cell,
  ID_BYTES,
  read,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { type Bytes, equalBytes } from '../platform/bytes.ts'
import { RowWriter } from '../platform/rows.ts'
import { leases } from './rows.ts'

export const GC_LEASE_MS = 30_000
const GC = cell(leases, Buffer.from('gc'))
const ROW_BYTES = 1 + ID_BYTES + 6

export class GcLease {
  readonly #backend: Backend
  #holder: Buffer | undefined
  /** By the clock of the backend. */
  #until = 0

  constructor(backend: Backend) {
    this.#backend = backend
  }

  /** Whether it is this process's turn, for half of the lease at least. Writes only when it has to be renewed. */
  async take(): Promise<boolean> {
    if (this.#until - this.#backend.now() > GC_LEASE_MS / 2) return true
    const taken = await this.#backend.run(take, this.#holder)
    this.#holder = taken?.holder ?? this.#holder
    this.#until = taken?.until ?? 0
    return taken !== undefined
  }

  async release(): Promise<void> {
    const holder = this.#holder
    if (!holder || this.#until <= this.#backend.now()) return
    this.#until = 0
    await this.#backend.run(release, holder)
  }
}

interface Taken {
  readonly holder: Buffer
  readonly until: number
}

function* take(scope: Scope, own: Buffer | undefined): Transaction<Taken | undefined> {
  const [row] = yield* read(GC)
  const now = scope.now()
  const held = row && decode(row)
  const isFree = !held || held.until <= now || held.until > now + GC_LEASE_MS
  if (!isFree && !(own && equalBytes(held.holder, own))) return undefined
  const taken = { holder: own ?? scope.id(), until: now + GC_LEASE_MS }
  scope.write(GC, new RowWriter(0, ROW_BYTES - 1).bytes(taken.holder).time(taken.until).whole())
  return taken
}

function* release(scope: Scope, own: Buffer): Transaction<void> {
  const [row] = yield* read(GC)
  const held = row && decode(row)
  if (held && equalBytes(held.holder, own)) scope.remove(GC)
}

/** A row that cannot be read is nobody's lease: all there is to lose is work done twice. */
function decode(bytes: Bytes): Taken | undefined {
  if (bytes.byteLength !== ROW_BYTES) return undefined
  const row = Buffer.from(bytes)
  return { holder: row.subarray(1, 1 + ID_BYTES), until: row.readUIntBE(1 + ID_BYTES, 6) }
}
