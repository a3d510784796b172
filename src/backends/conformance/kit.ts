/**
 * What the conformance scenarios share: the spaces they write to, the few bodies they all use, and the
 * means to open more backends. Scenarios see nothing but the Backend interface, and fail through
 * node:assert, so that the suite runs under any test framework.
 */

import assert from 'node:assert/strict'

import type { Bytes } from '../../platform/bytes.ts'
import { type ErrorCode, PrestigeError } from '../../platform/errors.ts'
import {
  type Backend,
  type BackendOptions,
  type Body,
  cell,
  type Codec,
  type Range,
  read,
  rows,
  type Scope,
  type Space,
  tallies,
  type Transaction,
} from '../contract.ts'

/** How a scenario gets more than the one backend it is given. */
export interface Means {
  /** Another new, empty backend. */
  readonly open: (options?: Partial<BackendOptions>) => Promise<Backend>
  /** A second backend on the data of one opened before, which may be closed by now. */
  readonly reopen: (backend: Backend, options?: Partial<BackendOptions>) => Promise<Backend>
  /** More rows than a page of this engine holds. */
  readonly manyRows: number
}

/** Passes by resolving. The backend is new and empty. */
export type Scenario = (backend: Backend, means: Means) => Promise<void>

const latin1Codec: Codec<string> = {
  encode: (text) => Buffer.from(text, 'latin1'),
  decode: (bytes) => Buffer.from(bytes).toString('latin1'),
}

/** Hands bytes through as they are, so that sharing them would show. */
const bareCodec: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }

const numberCodec: Codec<number> = {
  encode: (value) => Buffer.from(String(value)),
  decode: (bytes) => Number(Buffer.from(bytes).toString()),
}

/** Cannot read what it wrote as `unreadable`, and cannot write `unwritable`. */
const fragileCodec: Codec<string> = {
  encode(text) {
    if (text === 'unwritable') throw new RangeError('This cannot be written.')
    return latin1Codec.encode(text)
  },
  decode(bytes) {
    const text = latin1Codec.decode(bytes)
    if (text === 'unreadable') throw new RangeError('This cannot be read.')
    return text
  },
}

export const words: Space<string> = rows('suite-words', latin1Codec, { ordered: true })
export const others: Space<string> = rows('suite-others', latin1Codec, { ordered: true })
export const blobs: Space<Bytes> = rows('suite-blobs', bareCodec, { ordered: true })
export const numbers: Space<number> = rows('suite-numbers', numberCodec)
export const fragile: Space<string> = rows('suite-fragile', fragileCodec)
export const sums: Space<number> = tallies('suite-sums')

/** Every space the suite uses; a subject's `open` is given them. */
export const suiteSpaces: readonly Space<unknown>[] = [words, others, blobs, numbers, fragile, sums]

/** How many transactions are started at once where the race is what matters. */
export const RUNS_AT_ONCE = 64

export function key(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** A body that asks for nothing. */
export function blind<T>(record: (scope: Scope) => T): Body<[], T> {
  return function* (scope) {
    return record(scope)
  }
}

export function* writeAll<V>(
  scope: Scope,
  space: Space<V>,
  values: Readonly<Record<string, V>>,
): Transaction<void> {
  for (const [name, value] of Object.entries(values)) scope.write(cell(space, key(name)), value)
  yield* read()
}

/** Reads a whole number, adds one, writes it back: lost updates show in the sum. */
export function* increment(scope: Scope, name: string): Transaction<number> {
  const at = cell(numbers, key(name))
  const [current = 0] = yield* read(at)
  scope.write(at, current + 1)
  return current + 1
}

/** Writes in as many transactions as the engine's limit on cells asks for. */
export async function fill<V>(
  backend: Backend,
  space: Space<V>,
  entries: readonly (readonly [Bytes, V])[],
): Promise<void> {
  const step = Math.min(100, backend.limits.cellsMax)
  for (let at = 0; at < entries.length; at += step) {
    const part = entries.slice(at, at + step)
    await backend.run(
      blind((scope) => {
        for (const [name, value] of part) scope.write(cell(space, name), value)
      }),
    )
  }
}

export function put(
  backend: Backend,
  values: Readonly<Record<string, string>>,
  space: Space<string> = words,
): Promise<void> {
  return backend.run(writeAll<string>, space, values)
}

/** What the backend holds under these names, outside any transaction. */
export function get<V>(
  backend: Backend,
  space: Space<V>,
  ...names: readonly string[]
): Promise<(V | undefined)[]> {
  return backend.read(function* () {
    return yield* read(...names.map((name) => cell(space, key(name))))
  })
}

/** The names a scan gives, in the order it gives them. */
export async function names(
  backend: Backend,
  range?: Range,
  space: Space<unknown> = words,
): Promise<string[]> {
  const found: string[] = []
  for await (const row of backend.scan(space, range)) found.push(row.key.toString('latin1'))
  return found
}

export async function refused(code: ErrorCode, work: Promise<unknown>): Promise<void> {
  const error = await rejection(work)
  assert.ok(error instanceof PrestigeError, `expected ${code}, got ${String(error)}`)
  assert.equal(error.code, code)
}

/** What the work was rejected with. */
export async function rejection(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  return assert.fail('expected a rejection')
}

export function together<T>(count: number, work: (at: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, at) => work(at)))
}
