/**
 * Ways to damage a backend from outside: wrappers that stand between a caller, its bodies and the engine,
 * and a home-made optimistic driver that can be got wrong. Used by damage.test.ts alone.
 */

import { isDeepStrictEqual } from 'node:util'

import { blind } from '../src/backends/conformance/kit.ts'
import type { ScenarioName, Subject } from '../src/backends/conformance/index.ts'
import type {
  Ask,
  Backend,
  BackendLimits,
  Body,
  Cell,
  Range,
  ReadAsk,
  ReadBody,
  ReadScope,
  Row,
  Scope,
  Space,
  Transaction,
} from '../src/backends/contract.ts'
import { cellName } from '../src/backends/kit/draft.ts'

export interface Way {
  readonly caughtBy: readonly ScenarioName[]
  /** On engines of the other kind it is no damage, or another way shows it. */
  readonly only?: 'serial' | 'optimistic'
  readonly damage: (subject: Subject) => Subject
}

// ---------------------------------------------------------------------------------------------------
// A backend that does what the one inside does, to be damaged verb by verb.

export class Damaged implements Backend {
  readonly inner: Backend

  constructor(inner: Backend) {
    this.inner = inner
  }

  get limits(): BackendLimits {
    return this.inner.limits
  }

  get serial(): boolean {
    return this.inner.serial
  }

  get snapshots(): boolean {
    return this.inner.snapshots
  }

  now(): number {
    return this.inner.now()
  }

  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    return this.inner.read(body, ...args)
  }

  run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    return this.inner.run(body, ...args)
  }

  scan<V>(space: Space<V>, range?: Range): AsyncIterable<Row<V>> {
    return this.inner.scan(space, range)
  }

  snapshot(): Promise<Backend> {
    return this.inner.snapshot()
  }

  close(): Promise<void> {
    return this.inner.close()
  }
}

const opened: Backend[] = []

/** Closes what the wrappers of a test have opened, whatever they did to it. */
export async function closeOpened(): Promise<void> {
  await Promise.allSettled(opened.splice(0).map((backend) => backend.close()))
}

/** A subject whose backends are wrapped; what they wrap is closed after the test whatever they do. */
export function wrapped(wrap: (inner: Backend) => Damaged): Way['damage'] {
  return (subject) => ({
    ...subject,
    open: async (options) => {
      const inner = await subject.open(options)
      opened.push(inner)
      return wrap(inner)
    },
    reopen: async (first, options) => {
      const inner = await subject.reopen!((first as Damaged).inner, options)
      opened.push(inner)
      return wrap(inner)
    },
  })
}

export interface BodyDamage {
  readonly scope?: (scope: Scope) => Partial<Scope>
  readonly ask?: (ask: Ask) => Ask
  readonly answers?: (ask: Ask, values: readonly unknown[]) => readonly unknown[]
  /** Runs when the body has ended, before the engine takes over. */
  readonly end?: () => void
}

/** Stands between a body and the engine that drives it. */
export function* relayed<T>(
  body: Transaction<T>,
  { ask, answers, end }: Pick<BodyDamage, 'ask' | 'answers' | 'end'>,
): Transaction<T> {
  let step = body.next()
  while (!step.done) {
    const values = yield ask ? ask(step.value) : step.value
    step = body.next(answers ? answers(step.value, values) : values)
  }
  end?.()
  return step.value
}

export function scopeWith(scope: Scope, other: Partial<Scope>): Scope {
  return {
    serial: scope.serial,
    now: () => scope.now(),
    id: () => scope.id(),
    rely: (...cells) => scope.rely(...cells),
    write: (cell, value) => scope.write(cell, value),
    remove: (cell) => scope.remove(cell),
    add: (cell, delta) => scope.add(cell, delta),
    ...other,
  }
}

/** Damages every body in the same way. A new damage for every attempt, so that it may remember things. */
export function inBodies(make: () => BodyDamage): Way['damage'] {
  return wrapped(
    (inner) =>
      new (class extends Damaged {
        override run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
          return this.inner.run((scope: Scope) => {
            const damage = make()
            const damagedScope = damage.scope
              ? scopeWith(scope, damage.scope(scope))
              : scopeWith(scope, {})
            return relayed(body(damagedScope, ...args), damage)
          })
        }

        override read<A extends readonly unknown[], T>(
          body: ReadBody<A, T>,
          ...args: A
        ): Promise<T> {
          const { ask, answers } = make()
          const damage = { ...(ask && { ask }), ...(answers && { answers }) }
          return this.inner.read((scope) => relayed(body(scope, ...args), damage))
        }
      })(inner),
  )
}

export function inRuns(
  run: <T>(inner: Backend, body: (scope: Scope) => Transaction<T>) => Promise<T>,
): Way['damage'] {
  return wrapped(
    (inner) =>
      new (class extends Damaged {
        override run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
          return run(this.inner, (scope: Scope) => body(scope, ...args))
        }
      })(inner),
  )
}

export function inReads(
  read: <T>(inner: Backend, body: (scope: ReadScope) => Transaction<T>) => Promise<T>,
): Way['damage'] {
  return wrapped(
    (inner) =>
      new (class extends Damaged {
        override read<A extends readonly unknown[], T>(
          body: ReadBody<A, T>,
          ...args: A
        ): Promise<T> {
          return read(this.inner, (scope) => body(scope, ...args))
        }
      })(inner),
  )
}

export function inScans(
  scan: <V>(inner: Backend, space: Space<V>, range: Range) => AsyncIterable<Row<V>>,
): Way['damage'] {
  return wrapped(
    (inner) =>
      new (class extends Damaged {
        override scan<V>(space: Space<V>, range: Range = {}): AsyncIterable<Row<V>> {
          return scan(this.inner, space, range)
        }
      })(inner),
  )
}

export function isCells(ask: Ask): ask is ReadAsk {
  return ask.kind === 'read'
}

export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

export async function all<V>(rows: AsyncIterable<Row<V>>): Promise<Row<V>[]> {
  const found: Row<V>[] = []
  for await (const row of rows) found.push(row)
  return found
}

/** Rows in another order than asked for. */
export async function* sortedBy<V>(
  rows: AsyncIterable<Row<V>>,
  compare: (one: Buffer, other: Buffer) => number,
): AsyncGenerator<Row<V>> {
  yield* (await all(rows)).toSorted((one, other) => compare(one.key, other.key))
}

// ---------------------------------------------------------------------------------------------------
// A home-made optimistic driver on top of any backend, to be got wrong in the usual ways.

export interface Recorded {
  readonly reads: Map<string, { cell: Cell<unknown>; value: unknown }>
  readonly writes: { cell: Cell<unknown>; value: unknown }[]
  readonly additions: { cell: Cell<number>; delta: number }[]
}

/** Steps the body by hand, every ask a read of its own moment, and hands over what it has recorded. */
export async function byHand<T>(
  inner: Backend,
  body: (scope: Scope) => Transaction<T>,
  remembers = true,
): Promise<{ recorded: Recorded; end: { result: T } | { error: unknown } }> {
  const ids = await inner.run(blind((scope) => [scope.id(), scope.id(), scope.id()]))
  const recorded: Recorded = { reads: new Map(), writes: [], additions: [] }
  const scope: Scope = {
    serial: inner.serial,
    now: () => inner.now(),
    id: () => ids.shift()!,
    rely: () => {},
    write: (cell, value) => void recorded.writes.push({ cell, value }),
    remove: (cell) => void recorded.writes.push({ cell, value: undefined }),
    add: (cell, delta) => void recorded.additions.push({ cell, delta }),
  }
  const own = ({ space, key }: Cell<unknown>) =>
    recorded.writes.findLast(({ cell }) => sameCell(cell, { space, key }))
  try {
    const generator = body(scope)
    let step = generator.next()
    while (!step.done) {
      const ask = step.value
      const found = await inner.read(function* (): Transaction<readonly unknown[]> {
        return yield ask
      })
      await turn()
      if (!('cells' in ask)) throw new Error('not by hand')
      const { cells } = ask
      const values = cells.map((cell, at) => {
        const name = cellName(cell.space, cell.key)
        const before = recorded.reads.get(name)
        if (before && remembers) return before.value
        recorded.reads.set(name, { cell, value: found[at] })
        return found[at]
      })
      step = generator.next(cells.map((cell, at) => (own(cell) ? own(cell)!.value : values[at])))
    }
    return { recorded, end: { result: step.value } }
  } catch (error) {
    return { recorded, end: { error } }
  }
}

export function sameCell(one: Cell<unknown>, other: Cell<unknown>): boolean {
  return cellName(one.space, one.key) === cellName(other.space, other.key)
}

export function applyTo(scope: Scope, { writes, additions }: Recorded): void {
  for (const { cell, value } of writes) {
    if (value === undefined) scope.remove(cell)
    else scope.write(cell, value)
  }
  for (const { cell, delta } of additions) scope.add(cell, delta)
}

/** Applies what was recorded, if the cells that are looked at are as they were. */
export function commitIfSame(
  inner: Backend,
  recorded: Recorded,
  isLookedAt: (cell: Cell<unknown>) => boolean,
): Promise<boolean> {
  const reads = [...recorded.reads.values()].filter(({ cell }) => isLookedAt(cell))
  return inner.run(function* (scope) {
    const now = yield { kind: 'read', cells: reads.map(({ cell }) => cell) }
    if (!reads.every(({ value }, at) => isDeepStrictEqual(value, now[at]))) return false
    applyTo(scope, recorded)
    return true
  })
}

export async function handDriven<T>(
  inner: Backend,
  body: (scope: Scope) => Transaction<T>,
  isLookedAt: (recorded: Recorded) => (cell: Cell<unknown>) => boolean,
  errorsAreValidated = true,
): Promise<T> {
  for (;;) {
    const { recorded, end } = await byHand(inner, body)
    const applied = 'error' in end ? { ...recorded, writes: [], additions: [] } : recorded
    if ('error' in end && !errorsAreValidated) throw end.error
    if (!(await commitIfSame(inner, applied, isLookedAt(recorded)))) continue
    if ('error' in end) throw end.error
    return end.result
  }
}
