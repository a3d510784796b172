/**
 * Breaks every backend on purpose, in many ways, and watches the conformance suite turn red.
 *
 * Each way names the scenarios that must notice it, and every scenario of the suite is named by some way:
 * one that could not fail would not be worth running.
 */

import { createHash } from 'node:crypto'

import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'

import {
  all,
  applyTo,
  byHand,
  closeOpened,
  Damaged,
  handDriven,
  inBodies,
  inReads,
  inRuns,
  inScans,
  isCells,
  type Recorded,
  relayed,
  sameCell,
  scopeWith,
  sortedBy,
  turn,
  type Way,
  wrapped,
} from '../../../test/damaged.ts'
import {
  FAULTS,
  lmdb,
  memory,
  removeTemporaryDirectories,
  simulated,
} from '../../../test/subjects.ts'
import type { Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { blind, words } from './kit.ts'
import { runScenario, type ScenarioName, scenarioNames, type Subject } from './index.ts'
import type {
  Ask,
  Backend,
  Body,
  Cell,
  Range,
  ReadBody,
  Row,
  Scope,
  Space,
  Transaction,
} from '../contract.ts'
import { cellName } from '../kit/draft.ts'
import { LiveView } from '../kit/live-view.ts'
import { type Job, LmdbEnvironment } from '../lmdb/environment.ts'
import { MemoryEngine } from '../memory/backend.ts'
import type { Commit, CommitOutcome, Versioned } from '../kit/optimistic.ts'
import type { OrderedMap } from '../kit/ordered-map.ts'
import { SimulatedWorld } from '../simulated/backend.ts'

// ---------------------------------------------------------------------------------------------------
// Ways that any backend can be damaged in.

let repeatedIds = 0

const ways: Record<string, Way> = {
  'a miss is answered with null': {
    caughtBy: ['answers a miss with undefined, in place', 'keeps an empty value apart from a miss'],
    damage: inBodies(() => ({ answers: (_, values) => values.map((value) => value ?? null) })),
  },
  'misses are left out of the answer': {
    caughtBy: ['answers a miss with undefined, in place'],
    damage: inBodies(() => ({
      answers: (_, values) => values.filter((value) => value !== undefined),
    })),
  },
  'values come in the order of their keys': {
    caughtBy: ['answers in the order of the cells asked for'],
    damage: inBodies(() => ({
      answers: (ask, values) => {
        if (!isCells(ask)) return values
        const sorted = ask.cells.map((cell, at) => ({ name: cellName(cell.space, cell.key), at }))
        return sorted
          .toSorted((one, other) => (one.name < other.name ? -1 : 1))
          .map(({ at }) => values[at])
      },
    })),
  },
  'a cell is answered once an ask': {
    caughtBy: ['answers a cell as often as it is asked for'],
    damage: inBodies(() => ({
      answers: (ask, values) => {
        if (!isCells(ask)) return values
        const names = ask.cells.map((cell) => cellName(cell.space, cell.key))
        return values.filter((_, at) => names.indexOf(names[at]!) === at)
      },
    })),
  },
  'an empty value is taken for a miss': {
    caughtBy: ['keeps an empty value apart from a miss'],
    damage: inBodies(() => ({
      answers: (_, values) => values.map((value) => (value === '' ? undefined : value)),
    })),
  },
  'results are copied through JSON': {
    caughtBy: ['passes its arguments to a body and returns what the body returns'],
    damage: inRuns(async (inner, body) => {
      const result = await inner.run(body)
      return result === undefined ? result : JSON.parse(JSON.stringify(result))
    }),
  },
  'a body that only reads is given everything': {
    caughtBy: ['gives a body that only reads nothing to write with'],
    damage: inReads((inner, body) =>
      inner.read((scope) => body({ ...scopeWith(scope as Scope, {}), now: () => scope.now() })),
    ),
  },
  'a snapshot is said to be of one moment, and reads what is there': {
    caughtBy: [
      'reads a snapshot of one moment, where it says so, and else what is there',
      'scans a snapshot page by page while others write',
      'has in a snapshot the time of the moment, where it says so',
    ],
    damage: wrapped(
      (inner) =>
        new (class extends Damaged {
          override get snapshots(): boolean {
            return true
          }
          override async snapshot(): Promise<Backend> {
            return new LiveView(this)
          }
        })(inner),
    ),
  },
  'a snapshot is the backend itself': {
    caughtBy: ['writes nothing through a snapshot, and closes it alone'],
    damage: wrapped(
      (inner) =>
        new (class extends Damaged {
          override async snapshot(): Promise<Backend> {
            return this.inner
          }
        })(inner),
    ),
  },
  'keys keep seven bits of a byte': {
    caughtBy: ['keeps every byte, in keys and in values', 'scans a half-open range in byte order'],
    damage: inBodies(() => ({
      scope: (scope) => ({
        write: ({ space, key }, value) =>
          scope.write({ space, key: key.map((byte) => byte & 0x7f) }, value),
      }),
    })),
  },
  'the same buffer is handed out again and again': {
    caughtBy: ['hands out bytes that are the caller’s own'],
    damage: (subject) => {
      const handedOut = new Map<string, Bytes>()
      return inBodies(() => ({
        answers: (_, values) =>
          values.map((value) => {
            if (!(value instanceof Uint8Array)) return value
            const name = String(value)
            if (!handedOut.has(name)) handedOut.set(name, value)
            return handedOut.get(name)
          }),
      }))(subject)
    },
  },
  'what was taken in is written again by the next transaction': {
    caughtBy: ['keeps no hold of the bytes it took in'],
    damage: (subject) => {
      const held: ((scope: Scope) => void)[] = []
      return inBodies(() => {
        const again = held.splice(0)
        let inner: Scope | undefined
        return {
          scope: (scope) => {
            inner = scope
            return {
              write: (cell, value) => {
                held.push((later) => later.write(cell, value))
                scope.write(cell, value)
              },
            }
          },
          end: () => inner && again.forEach((one) => one(inner!)),
        }
      })(subject)
    },
  },
  'keys that are too long are cut': {
    caughtBy: ['takes keys up to its limit, and refuses longer ones by name'],
    damage: wrapped(
      (inner) =>
        new (class extends Damaged {
          override run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
            const cut = <V>({ space, key }: Cell<V>): Cell<V> => ({
              space,
              key: key.subarray(0, this.limits.keyBytesMax),
            })
            return this.inner.run((scope: Scope) =>
              body(
                scopeWith(scope, {
                  write: (cell, value) => scope.write(cut(cell), value),
                  add: (cell, delta) => scope.add(cut(cell), delta),
                }),
                ...args,
              ),
            )
          }
        })(inner),
    ),
  },
  'a key that is too long finds the one it begins with': {
    caughtBy: ['answers a key too long to be kept with a miss'],
    damage: inBodies(() => ({
      answers: (ask, values) =>
        isCells(ask)
          ? values.map((value, at) => (ask.cells[at]!.key.byteLength > 1978 ? 'something' : value))
          : values,
    })),
  },
  'values that are too large are cut': {
    caughtBy: ['takes values up to its limit, and refuses larger ones by name'],
    damage: wrapped(
      (inner) =>
        new (class extends Damaged {
          override run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
            const cut = <V>(value: V): V =>
              value instanceof Uint8Array
                ? (value.subarray(0, this.limits.valueBytesMax) as typeof value)
                : value
            return this.inner.run((scope: Scope) =>
              body(
                scopeWith(scope, { write: (cell, value) => scope.write(cell, cut(value)) }),
                ...args,
              ),
            )
          }
        })(inner),
    ),
  },
  'writes beyond the limit are left out': {
    caughtBy: ['refuses a transaction of more cells than its limit'],
    damage: inBodies(() => {
      let writes = 0
      return {
        scope: (scope) => ({
          write: (cell, value) => void (writes++ < 90 && scope.write(cell, value)),
        }),
      }
    }),
  },
  'a failed read is a miss': {
    caughtBy: ['lets the error of a codec out, and never turns it into a miss'],
    damage: inReads(async (inner, body) => {
      try {
        return await inner.read(body)
      } catch {
        return [undefined] as never
      }
    }),
  },
  'own writes are not read': {
    caughtBy: [
      'lets a body read its own writes and removals',
      'lets composed bodies read each other’s writes',
      'lets a body rely on what it has written itself',
      'lets a body go on after an error it has caught itself',
      'agrees with a plain map over random transactions',
    ],
    damage: inBodies(() => {
      const later: (() => void)[] = []
      return {
        scope: (scope) => ({
          rely: () => {},
          write: (cell, value) => void later.push(() => scope.write(cell, value)),
          remove: (cell) => void later.push(() => scope.remove(cell)),
        }),
        end: () => later.forEach((one) => one()),
      }
    }),
  },
  'the first write of a cell wins': {
    caughtBy: ['keeps the last of several writes of a cell'],
    damage: inBodies(() => {
      const written = new Set<string>()
      const isFirst = ({ space, key }: Cell<unknown>) => {
        const name = cellName(space, key)
        return !written.has(name) && written.add(name)
      }
      return {
        scope: (scope) => ({
          write: (cell, value) => void (isFirst(cell) && scope.write(cell, value)),
          remove: (cell) => void (isFirst(cell) && scope.remove(cell)),
        }),
      }
    }),
  },
  'removals come after all writes': {
    caughtBy: ['keeps the last of several writes of a cell'],
    damage: inBodies(() => {
      const later: (() => void)[] = []
      return {
        scope: (scope) => ({ remove: (cell) => void later.push(() => scope.remove(cell)) }),
        end: () => later.forEach((one) => one()),
      }
    }),
  },
  'the second write of a transaction is dropped': {
    caughtBy: ['applies all writes of a transaction, in all of its spaces'],
    damage: inBodies(() => {
      let writes = 0
      return {
        scope: (scope) => ({
          write: (cell, value) => void (++writes !== 2 && scope.write(cell, value)),
        }),
      }
    }),
  },
  'removals are ignored': {
    caughtBy: [
      'applies all writes of a transaction, in all of its spaces',
      'keeps spaces apart',
      'has everything after it was closed and opened again',
      'agrees with a plain map over random transactions',
    ],
    damage: inBodies(() => ({ scope: () => ({ remove: () => {} }) })),
  },
  'what a body recorded before it threw is applied': {
    caughtBy: [
      'writes nothing when a body throws, and lets that very error out',
      'adds nothing when a body throws',
      'keeps the error of one transaction from the others in flight',
    ],
    damage: inRuns(async (inner, body) => {
      const end = await inner.run(function* (scope: Scope) {
        try {
          return { result: yield* body(scope) }
        } catch (error) {
          return { error }
        }
      })
      if ('error' in end) throw end.error
      return end.result
    }),
  },
  'errors are replaced by the backend’s own': {
    caughtBy: ['writes nothing when a body throws, and lets that very error out'],
    damage: inRuns(async (inner, body) => {
      try {
        return await inner.run(body)
      } catch (error) {
        throw new PrestigeError('BACKEND_UNAVAILABLE', 'The body threw.', { cause: error })
      }
    }),
  },
  'errors are swallowed': {
    caughtBy: [
      'writes nothing when a body throws, and lets that very error out',
      'refuses to write, remove or read a tally in a transaction',
      'refuses to add to rows, and to add what is not a whole number',
      'refuses to find the first key of a space without order',
    ],
    damage: inRuns(async (inner, body) => {
      try {
        return await inner.run(body)
      } catch {
        return undefined as never
      }
    }),
  },
  'an error is thrown into the transaction that runs next': {
    caughtBy: ['keeps the error of one transaction from the others in flight'],
    damage: (subject) => {
      const errors: unknown[] = []
      return inRuns(async (inner, body) => {
        await turn()
        try {
          const result = await inner.run(body)
          if (errors.length > 0) throw errors.pop()
          return result
        } catch (error) {
          errors.push(error)
          throw error
        }
      })(subject)
    },
  },
  'a result is given out before its writes are applied': {
    caughtBy: ['shows what a transaction wrote to the very next read, scan and transaction'],
    damage: inRuns(async (inner, body) => {
      const { recorded, end } = await byHand(inner, body)
      if ('error' in end) throw end.error
      const writing = async () => {
        await turn()
        await inner.run(blind((scope) => applyTo(scope, recorded)))
      }
      writing().catch(() => {})
      return end.result
    }),
  },
  'reads are answered from a cache': {
    caughtBy: [
      'shows what a transaction wrote to the very next read, scan and transaction',
      'shares its data with a second backend',
    ],
    damage: wrapped((inner) => {
      const cache = new Map<string, unknown>()
      return new (class extends Damaged {
        override read<A extends readonly unknown[], T>(
          body: ReadBody<A, T>,
          ...args: A
        ): Promise<T> {
          const answers = (ask: Ask, values: readonly unknown[]) =>
            isCells(ask)
              ? ask.cells.map((cell, at) => {
                  const name = cellName(cell.space, cell.key)
                  if (!cache.has(name)) cache.set(name, values[at])
                  return cache.get(name)
                })
              : values
          return this.inner.read((scope) => relayed(body(scope, ...args), { answers }))
        }
      })(inner)
    }),
  },
  'nothing is validated': {
    caughtBy: [
      'runs transactions on one cell as if one came after the other',
      'makes write skew impossible',
      'validates what a body relies on, and only that',
      'shares its data with a second backend',
    ],
    damage: inRuns((inner, body) => handDriven(inner, body, () => () => false)),
  },
  'only the cells written are validated': {
    caughtBy: ['makes write skew impossible'],
    damage: inRuns((inner, body) =>
      handDriven(
        inner,
        body,
        ({ writes }) =>
          (one) =>
            writes.some(({ cell }) => sameCell(cell, one)),
      ),
    ),
  },
  'only the first cell read is validated': {
    caughtBy: ['makes write skew impossible'],
    damage: inRuns((inner, body) =>
      handDriven(
        inner,
        body,
        ({ reads }) =>
          (one) =>
            sameCell([...reads.values()][0]?.cell ?? one, one),
      ),
    ),
  },
  'errors leave without validation': {
    caughtBy: ['lets no error out that only a torn read has caused'],
    damage: inRuns((inner, body) => handDriven(inner, body, () => () => true, false)),
  },
  'reads are not from one moment': {
    caughtBy: [
      'reads from one moment',
      'lets no error out that only a torn read has caused',
      'notices a row that was removed and written again',
    ],
    damage: inReads(async (inner, body) => {
      const { end } = await byHand(inner, body as (scope: Scope) => Transaction<never>)
      if ('error' in end) throw end.error
      return end.result
    }),
  },
  'a cell is read again whenever it is asked for': {
    caughtBy: ['answers a cell the same way throughout a body'],
    damage: inReads(async (inner, body) => {
      const { end } = await byHand(inner, body as (scope: Scope) => Transaction<never>, false)
      if ('error' in end) throw end.error
      return end.result
    }),
  },
  'a transaction is applied in two parts': {
    caughtBy: ['reads from one moment'],
    damage: inRuns(async (inner, body) => {
      const { recorded, end } = await byHand(inner, body)
      if ('error' in end) throw end.error
      const [head, ...tail] = recorded.writes
      const apply = (writes: Recorded['writes'], additions: Recorded['additions']) =>
        inner.run(blind((scope) => applyTo(scope, { ...recorded, writes, additions })))
      await apply(head ? [head] : [], recorded.additions)
      await turn()
      await turn()
      await apply(tail, [])
      return end.result
    }),
  },
  'a transaction is applied twice now and then': {
    caughtBy: [
      'adds up exactly, however many add at once',
      'runs transactions on one cell as if one came after the other',
    ],
    damage: (subject) => {
      let runs = 0
      return inRuns(async (inner, body) => {
        if (++runs % 10 === 0) await inner.run(body)
        return inner.run(body)
      })(subject)
    },
  },
  'what is named as relied on is all that is': {
    caughtBy: ['relies on what one body reads, whatever another that it calls relies on'],
    damage: inRuns((inner, body) => {
      const named: Cell<unknown>[] = []
      const noting = (scope: Scope) =>
        body(scopeWith(scope, { rely: (...cells) => void named.push(...cells) }))
      const isNamed = (cell: Cell<unknown>) => named.some((one) => sameCell(one, cell))
      return handDriven(inner, noting, () => (cell) => named.length === 0 || isNamed(cell))
    }),
  },
  'what was only glanced at stays so': {
    caughtBy: [
      'answers a glance as it answers a read, and lets what was glanced at be read',
      'validates what a body relies on, and only that',
    ],
    damage: inRuns((inner, body) => {
      const glanced: Cell<unknown>[] = []
      const noting = (scope: Scope) =>
        relayed(body(scope), {
          ask: (ask) => {
            if (ask.kind === 'glance') glanced.push(...ask.cells)
            return ask
          },
        })
      const isGlanced = (cell: Cell<unknown>) => glanced.some((one) => sameCell(one, cell))
      return handDriven(inner, noting, () => (cell) => !isGlanced(cell))
    }),
  },
  'reliance on anything is accepted': {
    only: 'optimistic',
    caughtBy: ['refuses reliance on a cell that was not read, where it validates'],
    damage: inBodies(() => ({ scope: () => ({ rely: () => {} }) })),
  },
  'every other addition is lost': {
    caughtBy: ['adds up exactly, however many add at once'],
    damage: inBodies(() => {
      let additions = 0
      return {
        scope: (scope) => ({
          add: (cell, delta) => void (++additions % 2 && scope.add(cell, delta)),
        }),
      }
    }),
  },
  'additions never take away': {
    caughtBy: ['adds what is negative, nothing, or large, and comes back to zero'],
    damage: inBodies(() => ({
      scope: (scope) => ({ add: (cell, delta) => scope.add(cell, Math.abs(delta)) }),
    })),
  },
  'tallies have thirty-two bits': {
    caughtBy: ['adds what is negative, nothing, or large, and comes back to zero'],
    damage: inBodies(() => ({
      scope: (scope) => ({ add: (cell, delta) => scope.add(cell, delta | 0) }),
    })),
  },
  'what is added is rounded': {
    caughtBy: ['refuses to add to rows, and to add what is not a whole number'],
    damage: inBodies(() => ({
      scope: (scope) => ({ add: (cell, delta) => scope.add(cell, Math.trunc(delta) || 0) }),
    })),
  },
  'tallies are taken for rows': {
    caughtBy: ['refuses to write, remove or read a tally in a transaction'],
    damage: inBodies(() => {
      const asRows = <V>({ space, key }: Cell<V>): Cell<V> => ({
        space: { ...space, kind: 'rows' },
        key,
      })
      return {
        ask: (ask) => ('space' in ask ? ask : { ...ask, cells: ask.cells.map(asRows) }),
        scope: (scope) => ({
          write: (cell, value) => scope.write(asRows(cell), value),
          remove: (cell) => scope.remove(asRows(cell)),
        }),
      }
    }),
  },
  'all spaces are one': {
    caughtBy: [
      'keeps spaces apart',
      'keeps tallies and rows of one name apart',
      'scans only the space it is asked to',
    ],
    damage: (subject) => {
      const one = <V>(space: Space<V>): Space<V> => ({ ...space, name: words.name })
      const inOne = <V>({ space, key }: Cell<V>): Cell<V> => ({ space: one(space), key })
      const bodies = inBodies(() => ({
        ask: (ask) =>
          'space' in ask
            ? { ...ask, space: one(ask.space) }
            : { ...ask, cells: ask.cells.map(inOne) },
        scope: (scope) => ({
          write: (cell, value) => scope.write(inOne(cell), value),
          remove: (cell) => scope.remove(inOne(cell)),
          add: (cell, delta) => scope.add(inOne(cell), delta),
        }),
      }))
      return inScans((inner, space, range) => inner.scan(one(space), range))(bodies(subject))
    },
  },
  'namespaces are ignored': {
    caughtBy: ['keeps namespaces apart'],
    damage: (subject) => ({
      ...subject,
      reopen: (first, { namespace: _namespace, ...options }) => subject.reopen!(first, options),
    }),
  },
  'the first key is looked for in all namespaces': {
    only: 'serial',
    caughtBy: ['finds no first key of another namespace'],
    damage: (subject) => ({
      ...subject,
      reopen: (first, { namespace: _namespace, ...options }) => subject.reopen!(first, options),
    }),
  },
  'rows come in the opposite order': {
    caughtBy: ['scans a half-open range in byte order'],
    damage: inScans((inner, space, range) =>
      sortedBy(inner.scan(space, range), (one, other) => other.compare(one)),
    ),
  },
  'rows come in the order of signed bytes': {
    caughtBy: ['scans a half-open range in byte order'],
    damage: inScans((inner, space, range) => {
      const signed = (key: Buffer) => key.map((byte) => byte ^ 0x80)
      return sortedBy(inner.scan(space, range), (one, other) =>
        Buffer.compare(signed(one), signed(other)),
      )
    }),
  },
  'rows with short keys come first': {
    caughtBy: ['scans a half-open range in byte order'],
    damage: inScans((inner, space, range) =>
      sortedBy(
        inner.scan(space, range),
        (one, other) => one.length - other.length || one.compare(other),
      ),
    ),
  },
  'a range includes its end': {
    caughtBy: [
      'scans a half-open range in byte order',
      'scans up to its limit',
      'finds nothing in an empty range',
    ],
    damage: inScans((inner, space, range) =>
      inner.scan(space, {
        ...range,
        end: range.end && Buffer.concat([range.end, Buffer.of(0)]),
      }),
    ),
  },
  'a range leaves out its start': {
    caughtBy: ['scans a half-open range in byte order'],
    damage: inScans((inner, space, range) =>
      inner.scan(space, {
        ...range,
        start: range.start && Buffer.concat([range.start, Buffer.of(0)]),
      }),
    ),
  },
  'a range that ends before it starts is turned round': {
    caughtBy: ['finds nothing in an empty range'],
    damage: inScans((inner, space, range) => {
      const { start, end } = range
      const isTurned = start && end && Buffer.compare(start, end) > 0
      return inner.scan(space, isTurned ? { ...range, start: end, end: start } : range)
    }),
  },
  'limits are per page': {
    caughtBy: ['scans up to its limit', 'scans more rows than any page holds'],
    damage: inScans((inner, space, { limit: _limit, ...range }) => inner.scan(space, range)),
  },
  'a scan ends with its first page': {
    caughtBy: [
      'scans a space without an order, and tallies, whole',
      'scans more rows than any page holds',
      'scans on behind the longest keys',
      'scans on whatever is done to the rows it gave',
    ],
    damage: inScans((inner, space, range) =>
      inner.scan(space, { ...range, limit: Math.min(range.limit ?? 25, 25) }),
    ),
  },
  'long bounds are cut': {
    caughtBy: ['takes bounds that are longer than any key'],
    damage: inScans((inner, space, range) => {
      const { keyBytesMax } = inner.limits
      return inner.scan(space, {
        ...range,
        start: range.start?.subarray(0, keyBytesMax),
        end: range.end?.subarray(0, keyBytesMax),
      })
    }),
  },
  'a scan goes on by counting rows': {
    caughtBy: ['scans on while rows come and go'],
    damage: inScans(async function* (inner, space, range) {
      for (let at = 0; ; at++) {
        const row = (await all(inner.scan(space, range)))[at]
        if (row === undefined) return
        yield row
      }
    }),
  },
  'a scan goes on from the key it gave out': {
    caughtBy: ['scans on whatever is done to the rows it gave'],
    damage: inScans(async function* (inner, space, range) {
      let { start, limit = Infinity } = range
      for (; limit > 0; limit--) {
        const [row] = await all(inner.scan(space, { ...range, start, limit: 1 }))
        if (row === undefined) return
        yield row
        start = Buffer.concat([row.key, Buffer.of(0)])
      }
    }),
  },
  'two scans share one cursor': {
    caughtBy: ['lets scans run side by side, and lets go of one that is left'],
    damage: (subject) => {
      let shared: AsyncIterator<Row<unknown>> | undefined
      return inScans(async function* <V>(inner: Backend, space: Space<V>, range: Range) {
        shared ??= inner.scan(space, range)[Symbol.asyncIterator]()
        for (;;) {
          const step = await shared.next()
          if (step.done) break
          yield step.value as Row<V>
        }
        shared = undefined
      })(subject)
    },
  },
  'the first key is any key': {
    only: 'serial',
    caughtBy: ['finds the first key with a prefix, or refuses to'],
    damage: inBodies(() => ({
      ask: (ask) => ('prefix' in ask ? { ...ask, prefix: Buffer.alloc(0) } : ask),
    })),
  },
  'the rows of a range go beyond its end': {
    only: 'serial',
    caughtBy: ['lists the rows of a range to a body, or refuses to'],
    damage: inBodies(() => ({
      ask: (ask) => ('range' in ask ? { ...ask, range: { ...ask.range, end: undefined } } : ask),
    })),
  },
  'the first key counts no own writes': {
    only: 'serial',
    caughtBy: [
      'finds the first key with a prefix, or refuses to',
      'finds the first key behind many that the body has removed',
      'lists the rows of a range to a body, or refuses to',
    ],
    damage: inBodies(() => {
      const later: (() => void)[] = []
      return {
        scope: (scope) => ({
          write: (cell, value) => void later.push(() => scope.write(cell, value)),
          remove: (cell) => void later.push(() => scope.remove(cell)),
        }),
        end: () => later.forEach((one) => one()),
      }
    }),
  },
  'the first key is promised and never found': {
    only: 'optimistic',
    caughtBy: [
      'finds the first key with a prefix, or refuses to',
      'finds the first key behind many that the body has removed',
      'lists the rows of a range to a body, or refuses to',
    ],
    damage: inBodies(() => ({
      ask: (ask) => ('space' in ask ? { kind: 'read', cells: [] } : ask),
    })),
  },
  'a space without order has a first key': {
    only: 'serial',
    caughtBy: ['refuses to find the first key of a space without order'],
    damage: inBodies(() => ({
      ask: (ask) => ('space' in ask ? { ...ask, space: { ...ask.space, ordered: true } } : ask),
    })),
  },
  'ids repeat': {
    caughtBy: ['makes ids of sixteen bytes that are unique and ascend'],
    damage: inBodies(() => ({
      scope: () => ({ id: () => Buffer.alloc(16, Math.floor(repeatedIds++ / 3)) }),
    })),
  },
  'ids are random': {
    caughtBy: ['makes ids of sixteen bytes that are unique and ascend'],
    damage: inBodies(() => ({
      scope: (scope) => ({
        id: () => createHash('sha256').update(scope.id()).digest().subarray(0, 16),
      }),
    })),
  },
  'ids are the clock and a counter': {
    caughtBy: ['makes ids that no other backend makes'],
    damage: (subject) => ({
      ...subject,
      open: (options) => subject.open({ ...options, random: (count) => Buffer.alloc(count) }),
      reopen: (first, options) =>
        subject.reopen!(first, { ...options, random: (count) => Buffer.alloc(count) }),
    }),
  },
  'ids follow the clock back': {
    caughtBy: ['makes ids that ascend when the clock stands still or steps back'],
    damage: (subject) => {
      let counter = 0
      let clock: () => number = Date.now
      const damaged = inBodies(() => ({
        scope: () => ({
          id: () => {
            const id = Buffer.alloc(16)
            id.writeUIntBE(clock(), 0, 6)
            id.writeUInt32BE(counter++, 12)
            return id
          },
        }),
      }))(subject)
      return {
        ...damaged,
        open: (options) => {
          clock = options.clock ?? Date.now
          return damaged.open(options)
        },
      }
    },
  },
  'the clock runs during a transaction': {
    caughtBy: ['takes the time from its clock, once a transaction'],
    damage: wrapped(
      (inner) =>
        new (class extends Damaged {
          override run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
            return this.inner.run((scope: Scope) =>
              body(scopeWith(scope, { now: () => inner.now() }), ...args),
            )
          }
        })(inner),
    ),
  },
  'the time goes back': {
    caughtBy: ['has a time that never goes back, whatever its clock does'],
    damage: wrapped(
      (inner) =>
        new (class extends Damaged {
          #calls = 0
          override now(): number {
            return this.inner.now() - 1000 * this.#calls++
          }
        })(inner),
    ),
  },
  'the clock it was given is ignored': {
    caughtBy: ['takes the time from its clock, once a transaction'],
    damage: (subject) => ({
      ...subject,
      open: ({ clock: _clock, ...options }) => subject.open(options),
    }),
  },
  'close does nothing': {
    caughtBy: ['refuses every verb once closed', 'closes once, however often it is asked to'],
    damage: wrapped(
      (inner) =>
        new (class extends Damaged {
          override async close(): Promise<void> {}
        })(inner),
    ),
  },
  'a scan of a closed backend is empty': {
    caughtBy: ['refuses every verb once closed'],
    damage: inScans(async function* (inner, space, range) {
      try {
        yield* inner.scan(space, range)
      } catch {
        // An error swallowed: the damage.
      }
    }),
  },
  'close fails the second time': {
    caughtBy: ['closes once, however often it is asked to'],
    damage: wrapped(
      (inner) =>
        new (class extends Damaged {
          isClosed = false
          override async close(): Promise<void> {
            if (this.isClosed) throw new Error('closed already')
            this.isClosed = true
            await this.inner.close()
          }
        })(inner),
    ),
  },
  'close forgets what it has accepted': {
    caughtBy: ['waits for what it has accepted before it closes'],
    damage: inRuns(async (inner, body) => {
      await turn()
      return inner.run(body)
    }),
  },
  'everything is forgotten on close': {
    caughtBy: [
      'has everything after it was closed and opened again',
      'waits for what it has accepted before it closes',
    ],
    damage: (subject) => ({ ...subject, reopen: (_, options) => subject.open(options) }),
  },
}

// ---------------------------------------------------------------------------------------------------
// Ways of the engines themselves.

/** A map whose order, end or memory is wrong. */
function damagedMemory(damage: (map: OrderedMap<Bytes>) => void): Way['damage'] {
  return () =>
    memory(() => {
      const engine = new MemoryEngine()
      const space = engine.space.bind(engine)
      const damaged = new Set<string>()
      engine.space = (name) => {
        const map = space(name)
        if (!damaged.has(name)) damage(map)
        damaged.add(name)
        return map
      }
      return engine
    })
}

const memoryWays: Record<string, Way> = {
  'the map keeps all spaces together': {
    caughtBy: ['keeps spaces apart'],
    damage: () =>
      memory(() => {
        const engine = new MemoryEngine()
        const only = engine.space('only')
        engine.space = () => only
        return engine
      }),
  },
  'the map forgets rows when a run is cut': {
    caughtBy: ['scans more rows than any page holds'],
    damage: damagedMemory((map) => {
      const set = map.set.bind(map)
      map.set = (key, value) => {
        if (map.size < 512) set(key, value)
      }
    }),
  },
  'the map includes the end of a slice': {
    caughtBy: ['scans a half-open range in byte order'],
    damage: damagedMemory((map) => {
      const slice = map.slice.bind(map)
      map.slice = (start, end, limit) => slice(start, end === undefined ? end : `${end}\0`, limit)
    }),
  },
  'the map deletes nothing': {
    caughtBy: ['keeps the last of several writes of a cell'],
    damage: damagedMemory((map) => {
      map.delete = () => false
    }),
  },
  'the map gives its own bytes to those who change them': {
    caughtBy: ['adds up exactly, however many add at once'],
    damage: damagedMemory((map) => {
      const get = map.get.bind(map)
      map.get = (key) => get(key)?.fill(0)
    }),
  },
}

/** Jobs of the group commit, changed on their way to it. */
function damagedJobs(change: (job: Job) => Job): Way['damage'] {
  return (subject) => {
    vi.spyOn(LmdbEnvironment.prototype, 'enqueue').mockImplementation(function (
      this: LmdbEnvironment,
      job,
    ) {
      enqueue.call(this, change(job))
    })
    return subject
  }
}

// oxlint-disable-next-line unbound-method -- called with the environment it is taken from
const { enqueue } = LmdbEnvironment.prototype

const lmdbWays: Record<string, Way> = {
  'a result leaves before its group has committed': {
    caughtBy: ['shows what a transaction wrote to the very next read, scan and transaction'],
    damage: damagedJobs((job) => {
      job.done()
      return { ...job, done: () => {} }
    }),
  },
  'the group writes without namespaces': {
    caughtBy: ['keeps namespaces apart'],
    damage: damagedJobs((job) => ({ ...job, prefix: Buffer.of(0) })),
  },
  'the group leaves out the additions': {
    caughtBy: ['adds up exactly, however many add at once'],
    damage: damagedJobs((job) => ({
      ...job,
      drive: () => {
        const draft = job.drive()
        draft.additions.length = 0
        return draft
      },
    })),
  },
  'the group drives its jobs before the write transaction': {
    caughtBy: ['runs transactions on one cell as if one came after the other'],
    damage: damagedJobs((job) => {
      const driven = (() => {
        try {
          return { draft: job.drive() }
        } catch (error) {
          return { error }
        }
      })()
      return {
        ...job,
        drive: () => {
          if (driven.draft) return driven.draft
          throw driven.error
        },
      }
    }),
  },
  'a failed job is reported done': {
    caughtBy: ['writes nothing when a body throws, and lets that very error out'],
    damage: damagedJobs((job) => ({ ...job, failed: () => job.done() })),
  },
}

type NameOf = (key: Bytes) => string

function damagedWorld(
  world: (...args: ConstructorParameters<typeof SimulatedWorld>) => SimulatedWorld,
): Way['damage'] {
  return () => simulated(7, FAULTS, world)
}

class UncheckedWorld extends SimulatedWorld {
  override apply(commit: Commit, nameOf: NameOf): CommitOutcome {
    return super.apply({ ...commit, checks: [] }, nameOf)
  }
}

class HalfCheckedWorld extends SimulatedWorld {
  override apply(commit: Commit, nameOf: NameOf): CommitOutcome {
    return super.apply({ ...commit, checks: commit.checks.slice(0, 1) }, nameOf)
  }
}

class MissUncheckedWorld extends SimulatedWorld {
  override apply(commit: Commit, nameOf: NameOf): CommitOutcome {
    const checks = commit.checks.filter(({ version }) => version !== undefined)
    return super.apply({ ...commit, checks }, nameOf)
  }
}

/** The sends of one commit look like several commits. */
class ForgetfulWorld extends SimulatedWorld {
  #sends = 0

  override apply(commit: Commit, nameOf: NameOf): CommitOutcome {
    return super.apply({ ...commit, version: `${commit.version}/${this.#sends++}` }, nameOf)
  }
}

/** Versions count the writes of a cell, and start again when it was removed: ABA. */
class CountingWorld extends SimulatedWorld {
  readonly #counts = new Map<string, number>()
  readonly #seen = new Set<string>()

  override fetchOne(name: string, space: Space<unknown>): Versioned | undefined {
    const found = super.fetchOne(name, space)
    const version = String(this.#counts.get(`${space.name}/${name}`))
    return found && { bytes: found.bytes, version }
  }

  override apply(commit: Commit, nameOf: NameOf): CommitOutcome {
    const outcome = super.apply(commit, nameOf)
    if (!outcome.applied || this.#seen.has(commit.version)) return outcome
    this.#seen.add(commit.version)
    for (const { space, key, bytes } of [...commit.writes, ...commit.additions.map(asWrite)]) {
      const name = `${space.name}/${nameOf(key)}`
      if (bytes === undefined) this.#counts.delete(name)
      else this.#counts.set(name, 1 + (this.#counts.get(name) ?? 0))
    }
    return outcome
  }
}

function asWrite({ space, key }: { space: Space<unknown>; key: Bytes }): Commit['writes'][number] {
  return { space, key, bytes: Buffer.alloc(0) }
}

class RepeatingWorld extends SimulatedWorld {
  #made = 0

  override newVersion(): string {
    return String(++this.#made % 5)
  }
}

/** Says no and does it all the same. */
class DeceitfulWorld extends SimulatedWorld {
  override apply(commit: Commit, nameOf: NameOf): CommitOutcome {
    const outcome = super.apply(commit, nameOf)
    return outcome.applied && this.random() < 0.2 ? { applied: false, fresh: new Map() } : outcome
  }
}

const simulatedWays: Record<string, Way> = {
  'commits check nothing': {
    caughtBy: [
      'runs transactions on one cell as if one came after the other',
      'makes write skew impossible',
      'reads from one moment',
      'notices a row that was removed and written again',
    ],
    damage: damagedWorld((...args) => new UncheckedWorld(...args)),
  },
  'commits check the first cell only': {
    caughtBy: ['makes write skew impossible'],
    damage: damagedWorld((...args) => new HalfCheckedWorld(...args)),
  },
  'commits do not check that a miss is still one': {
    caughtBy: ['notices a row that was removed and written again'],
    damage: damagedWorld((...args) => new MissUncheckedWorld(...args)),
  },
  'a commit sent again is applied again': {
    caughtBy: [
      'adds up exactly, however many add at once',
      'runs transactions on one cell as if one came after the other',
    ],
    damage: damagedWorld((...args) => new ForgetfulWorld(...args)),
  },
  'versions are counters': {
    caughtBy: ['notices a row that was removed and written again'],
    damage: damagedWorld((...args) => new CountingWorld(...args)),
  },
  'versions repeat': {
    caughtBy: ['runs transactions on one cell as if one came after the other'],
    damage: damagedWorld((...args) => new RepeatingWorld(...args)),
  },
  'a refused commit is applied all the same': {
    caughtBy: ['adds up exactly, however many add at once'],
    damage: damagedWorld((...args) => new DeceitfulWorld(...args)),
  },
}

// ---------------------------------------------------------------------------------------------------

const SCENARIO_MS_MAX = 5000

/** Green, red, or hanging, which is red as well. */
async function isCaught(subject: Subject, name: ScenarioName): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const hanging = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), SCENARIO_MS_MAX)
  })
  const red = runScenario(subject, name).then(
    () => false,
    () => true,
  )
  try {
    return await Promise.race([red, hanging])
  } finally {
    clearTimeout(timer)
  }
}

afterEach(async () => {
  vi.restoreAllMocks()
  await closeOpened()
})
afterAll(removeTemporaryDirectories)

const engines = [
  { subject: memory(), kind: 'serial', own: memoryWays },
  { subject: lmdb('os'), kind: 'serial', own: lmdbWays },
  { subject: simulated(7), kind: 'optimistic', own: simulatedWays },
] as const

/** Wrappers that damage nothing: what they are made of must not be what the suite notices. */
const controls: Record<string, { passes: readonly ScenarioName[]; damage: Way['damage'] }> = {
  'bodies are relayed': { passes: scenarioNames, damage: inBodies(() => ({})) },
  'runs are passed on': {
    passes: scenarioNames,
    damage: inRuns((inner, body) => inner.run(body)),
  },
  'reads are passed on': {
    passes: scenarioNames,
    damage: inReads((inner, body) => inner.read(body)),
  },
  'scans are passed on': {
    passes: scenarioNames,
    damage: inScans((inner, space, range) => inner.scan(space, range)),
  },
  'bodies are driven by hand, and validated': {
    passes: [
      'runs transactions on one cell as if one came after the other',
      'makes write skew impossible',
      'reads from one moment',
      'answers a cell the same way throughout a body',
      'lets no error out that only a torn read has caused',
      'notices a row that was removed and written again',
      'shares its data with a second backend',
      'validates what a body relies on, and only that',
      'shows what a transaction wrote to the very next read, scan and transaction',
    ],
    damage: inRuns((inner, body) => handDriven(inner, body, () => () => true)),
  },
}

describe('memory, wrapped and not damaged:', () => {
  for (const [control, { passes, damage }] of Object.entries(controls)) {
    it(control, async () => {
      for (const name of passes) await runScenario(damage(memory()), name)
    })
  }
})

for (const { subject, kind, own } of engines) {
  describe(`${subject.name}, damaged so that`, () => {
    for (const [way, { damage, caughtBy, only }] of Object.entries({ ...ways, ...own })) {
      if (only !== undefined && only !== kind) continue
      it(way, async () => {
        for (const name of caughtBy) {
          const caught = await isCaught(damage(subject), name)
          expect(caught, `"${name}" did not notice`).toBe(true)
        }
      })
    }
  })

  it(`every scenario has been seen failing on ${subject.name}`, () => {
    const applied = Object.values({ ...ways, ...own }).filter(({ only }) => !only || only === kind)
    const seen = new Set(applied.flatMap(({ caughtBy }) => caughtBy))
    const cannotFail: ScenarioName[] =
      kind === 'serial'
        ? ['refuses reliance on a cell that was not read, where it validates']
        : ['finds no first key of another namespace']
    expect(scenarioNames.filter((name) => !seen.has(name))).toEqual(cannotFail)
  })
}
