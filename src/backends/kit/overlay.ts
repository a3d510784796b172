/**
 * What if: a backend that reads through to another and keeps every write to itself. For plans: the same bodies
 * run to the same ends, and nothing underneath changes.
 *
 * Over engines that run bodies one after another only. What others change underneath while it is open may be seen.
 */

import { type Bytes, copyOf, endOfPrefix, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type {
  Ask,
  Backend,
  BackendLimits,
  Body,
  Cell,
  Range,
  ReadBody,
  Row,
  Space,
  Transaction,
} from '../contract.ts'
import { Draft, ReadDraft } from './draft.ts'
import { Gate } from './gate.ts'
import { IdSource, systemRandom } from './ids.ts'
import { checkWrites } from './limits.ts'
import { LiveView } from './live-view.ts'
import { OrderedMap } from './ordered-map.ts'
import { refuseTally, requireWhole } from './serial.ts'

/** `undefined`: removed. */
type Kept = { readonly bytes: Bytes | undefined }

const SCAN_PAGE = 256

export class OverlayBackend implements Backend {
  readonly limits: BackendLimits
  readonly serial = true
  readonly snapshots = false
  readonly #base: Backend
  readonly #spaces = new Map<string, OrderedMap<Kept>>()
  readonly #sums = new Map<string, number>()
  readonly #ids: IdSource
  readonly #gate = new Gate('overlay backend')

  constructor(base: Backend) {
    if (!base.serial) {
      throw new PrestigeError('INVALID_OPTIONS', 'A plan needs an engine of one machine.')
    }
    this.#base = base
    this.limits = base.limits
    this.#ids = new IdSource(() => base.now(), systemRandom)
  }

  now(): number {
    return this.#base.now()
  }

  async read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    const draft = new ReadDraft(this.#base.now())
    return this.#gate.pass(() =>
      this.#base.read(() => this.#drive(body(draft, ...args), undefined)),
    )
  }

  async run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    return this.#gate.pass(() => this.#base.read(() => this.#runWithin(body, args)))
  }

  async *scan<V>(space: Space<V>, range: Range = {}): AsyncGenerator<Row<V>> {
    requireWhole(space, range)
    if (space.kind === 'tallies') throw noTallies(space)
    if (space.ordered) yield* this.#scanInOrder(space, range)
    else yield* this.#scanWhole(space, range.limit)
  }

  async *#scanInOrder<V>(space: Space<V>, range: Range): AsyncGenerator<Row<V>> {
    let left = range.limit ?? Infinity
    let { start } = range
    while (left > 0) {
      const limit = Math.min(left, SCAN_PAGE)
      const at = { start, end: range.end, limit }
      const page = await this.read(() => this.#pageOf(space, at))
      for (const row of page) {
        start = Buffer.concat([row.key, Buffer.of(0)])
        yield row
      }
      if (page.length < limit) return
      left -= page.length
    }
  }

  /** In no order: what is underneath and was not written here, then what was. */
  async *#scanWhole<V>(space: Space<V>, limit = Infinity): AsyncGenerator<Row<V>> {
    let left = limit
    for await (const row of this.#base.scan(space)) {
      if (left <= 0) return
      if (this.#space(space).get(latin1(row.key))) continue
      left--
      yield row
    }
    for (const [name, { bytes }] of this.#space(space).slice('', undefined, Infinity)) {
      if (left <= 0) return
      if (!bytes) continue
      left--
      const key = Buffer.from(name, 'latin1')
      yield { key, value: space.codec.decode(copyOf(bytes), key) }
    }
  }

  async snapshot(): Promise<Backend> {
    this.#gate.assertOpen()
    return new LiveView(this)
  }

  /** What is underneath is closed too. */
  close(): Promise<void> {
    return this.#gate.close(() => this.#base.close())
  }

  /** Applied before anyone else has a turn, so bodies still run one after another. */
  *#runWithin<A extends readonly unknown[], T>(body: Body<A, T>, args: A): Transaction<T> {
    const draft = new Draft(true, this.#ids, this.#base.now())
    const result = yield* this.#drive(body(draft, ...args), draft)
    checkWrites(draft, this.limits)
    for (const { space, key, bytes } of draft.writes) {
      this.#space(space).set(latin1(key), { bytes: bytes && copyOf(bytes) })
    }
    for (const { space, key, delta } of draft.additions) {
      const name = `${space.name}/${latin1(key)}`
      this.#sums.set(name, (this.#sums.get(name) ?? 0) + delta)
    }
    return result
  }

  *#drive<T>(body: Transaction<T>, draft: Draft | undefined): Transaction<T> {
    let step = body.next()
    while (!step.done) step = body.next(yield* this.#answer(step.value, draft))
    return step.value
  }

  *#answer(ask: Ask, draft: Draft | undefined): Transaction<readonly unknown[]> {
    if (ask.kind === 'read' || ask.kind === 'glance') return yield* this.#values(ask.cells, draft)
    if (ask.kind === 'rows') return yield* this.#rows(ask.space, ask.range, draft)
    const range = { start: ask.prefix, end: endOfPrefix(ask.prefix), limit: 1 }
    const [row] = yield* this.#rows(ask.space, range, draft)
    return [row?.key]
  }

  *#values(
    cells: readonly Cell<unknown>[],
    draft: Draft | undefined,
  ): Transaction<readonly unknown[]> {
    const missing = cells.filter((one) => this.#kept(one, draft) === undefined)
    const found: readonly unknown[] =
      missing.length > 0 ? yield { kind: 'read', cells: missing } : []
    let at = 0
    return cells.map((one) => {
      const { space, key } = one
      if (draft) refuseTally(space)
      const kept = this.#kept(one, draft)
      if (kept) return kept.bytes && space.codec.decode(copyOf(kept.bytes), key)
      const value = found[at++]
      const sum = this.#sums.get(`${space.name}/${latin1(key)}`)
      return space.kind === 'tallies' && sum !== undefined ? Number(value ?? 0) + sum : value
    })
  }

  *#pageOf<V>(
    space: Space<V>,
    range: Range & { readonly limit: number },
  ): Transaction<readonly Row<V>[]> {
    return (yield* this.#rows(space, range, undefined)) as readonly Row<V>[] // safe: rows of this very space
  }

  /** Own rows hide those underneath, so as many more are asked for as may be hidden. */
  *#rows(
    space: Space<unknown>,
    range: Range & { readonly limit: number },
    draft: Draft | undefined,
  ): Transaction<readonly Row<unknown>[]> {
    const own = new Map<string, Bytes | undefined>()
    const [start, end] = [latin1(range.start ?? Buffer.alloc(0)), range.end && latin1(range.end)]
    for (const [name, { bytes }] of this.#space(space).slice(start, end, Infinity)) {
      own.set(name, bytes)
    }
    for (const { key, bytes } of draft?.ownOf(space, Buffer.alloc(0)) ?? []) {
      const name = latin1(key)
      if (name >= start && (end === undefined || name < end)) own.set(name, bytes)
    }
    const asked = {
      kind: 'rows' as const,
      space,
      range: { ...range, limit: range.limit + own.size },
    }
    const below = (yield asked) as readonly Row<unknown>[] // safe: drivers answer a RowsAsk with rows
    const rows = below.filter(({ key }) => !own.has(latin1(key)))
    for (const [name, bytes] of own) {
      if (!bytes) continue
      const key = Buffer.from(name, 'latin1')
      rows.push({ key, value: space.codec.decode(copyOf(bytes), key) })
    }
    return rows.toSorted((one, other) => one.key.compare(other.key)).slice(0, range.limit)
  }

  #kept({ space, key }: Cell<unknown>, draft: Draft | undefined): Kept | undefined {
    return draft?.own(space, key) ?? this.#space(space).get(latin1(key))
  }

  #space({ name }: Space<unknown>): OrderedMap<Kept> {
    const known = this.#spaces.get(name)
    if (known) return known
    const made = new OrderedMap<Kept>()
    this.#spaces.set(name, made)
    return made
  }
}

/** Its sums are kept apart from those underneath, and nobody who plans needs them all. */
function noTallies({ name }: Space<unknown>): PrestigeError {
  return new PrestigeError('BODY_MISUSE', `Tally ${name} cannot be scanned in a plan.`)
}
