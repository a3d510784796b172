import { afterEach, describe, expect, it, vi } from 'vitest'

import type { Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Body,
  cell,
  type Cell,
  type Codec,
  first,
  glance,
  read,
  rows,
  type Scope,
  type Space,
  tallies,
  type Transaction,
} from '../contract.ts'
import { cellName } from './draft.ts'
import { IdSource } from './ids.ts'
import {
  type Commit,
  type CommitOutcome,
  type OptimisticEngine,
  type OptimisticOptions,
  OptimisticRunner,
  type Versioned,
} from './optimistic.ts'
import { type SimulatedFaults, SimulatedWorld } from '../simulated/backend.ts'

const textCodec: Codec<string> = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => Buffer.from(bytes).toString(),
}
const texts: Space<string> = rows('texts', textCodec)
const stones: Space<string> = rows('stones', textCodec, { immutable: true })
const sums = tallies('sums')

const at = (name: string) => cell(texts, Buffer.from(name))
const stone = (name: string) => cell(stones, Buffer.from(name))
const nameOf = ({ space, key }: { space: Space<unknown>; key: Bytes }) => cellName(space, key)
const unavailable = () => new PrestigeError('BACKEND_UNAVAILABLE', 'no reply', { cause: 'a cable' })

/** As little of an engine as the driver needs, with a hook before everything it does. */
class SmallEngine implements OptimisticEngine {
  fetchIsAtomic = false
  readonly rows = new Map<string, Versioned>()
  readonly applied = new Set<string>()
  readonly fetches: string[][] = []
  readonly commits: Commit[] = []
  beforeFetch: (names: string[]) => void = () => {}
  beforeCommit: (commit: Commit) => void = () => {}
  afterCommit: (commit: Commit, outcome: CommitOutcome) => void = () => {}

  async fetch(cells: readonly Cell<unknown>[]): Promise<(Versioned | undefined)[]> {
    const names = cells.map(nameOf)
    this.fetches.push(names)
    this.beforeFetch(names)
    await Promise.resolve()
    return names.map((name) => this.rows.get(name))
  }

  async commit(commit: Commit): Promise<CommitOutcome> {
    this.commits.push(commit)
    this.beforeCommit(commit)
    await Promise.resolve()
    const outcome = this.#outcome(commit)
    this.afterCommit(commit, outcome)
    return outcome
  }

  #outcome(commit: Commit): CommitOutcome {
    if (this.applied.has(commit.version)) return { applied: true }
    const isSame = commit.checks.every(
      (check) => this.rows.get(nameOf(check))?.version === check.version,
    )
    if (!isSame) return this.refusal(commit)
    this.applied.add(commit.version)
    for (const write of commit.writes) {
      if (write.bytes === undefined) this.rows.delete(nameOf(write))
      else this.rows.set(nameOf(write), { bytes: write.bytes, version: commit.version })
    }
    return { applied: true }
  }

  refusal({ checks }: Commit): CommitOutcome {
    const fresh = new Map(checks.map((check) => [nameOf(check), this.rows.get(nameOf(check))]))
    return { applied: false, fresh }
  }

  /** What another process does in the meantime. */
  set(values: Record<string, string | undefined>): void {
    for (const [name, text] of Object.entries(values)) {
      const version = `other ${this.rows.size} ${Math.random()}`
      if (text === undefined) this.rows.delete(`texts/${name}`)
      else this.rows.set(`texts/${name}`, { bytes: Buffer.from(text), version })
    }
  }

  text(name: string): string | undefined {
    const row = this.rows.get(`texts/${name}`)
    return row && Buffer.from(row.bytes).toString()
  }
}

function driver(engine: OptimisticEngine, options: Partial<OptimisticOptions> = {}) {
  let versions = 0
  const sleeps: number[] = []
  const runner = new OptimisticRunner({
    engine,
    limits: { keyBytesMax: 100, valueBytesMax: 100, cellsMax: 20 },
    ids: new IdSource(
      () => 1000,
      () => Buffer.alloc(6, 1),
    ),
    now: () => 1000,
    newVersion: () => `v${++versions}`,
    sleep: async (ms) => void sleeps.push(ms),
    random: () => 0.5,
    attemptsMax: 50,
    audit: false,
    ...options,
  })
  return Object.assign(runner, { sleeps })
}

/** Counts its runs; not a pure body, which is what makes it useful here. */
function counted<A extends readonly unknown[], T>(body: Body<A, T>) {
  const runs: { count: number } = { count: 0 }
  const outer: Body<A, T> = (scope, ...args) => {
    runs.count++
    return body(scope, ...args)
  }
  return { body: outer, runs }
}

function once(work: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    work()
  }
}

function* append(scope: Scope, name: string, text: string): Transaction<string> {
  const [current = ''] = yield* read(at(name))
  scope.write(at(name), current + text)
  return current + text
}

function* mustBeSame(): Transaction<string | undefined> {
  const [a] = yield* read(at('a'))
  const [b] = yield* read(at('b'))
  if (a !== b) throw new Error(`${a} is not ${b}`)
  return a
}

afterEach(() => {
  vi.useRealTimers()
})

describe('what leaves a transaction', () => {
  it('is not the error of a torn read: the body is run again', async () => {
    const engine = new SmallEngine()
    engine.set({ a: '1', b: '1' })
    const interfere = once(() => engine.set({ a: '2', b: '2' }))
    engine.beforeFetch = (names) => names.includes('texts/b') && interfere()
    const { body, runs } = counted(mustBeSame)
    await expect(driver(engine).run(body, [])).resolves.toBe('2')
    expect(runs.count).toBe(2)
  })

  it('is not the result of a torn read either, also where nothing is written', async () => {
    const engine = new SmallEngine()
    engine.set({ a: '1', b: '1' })
    const interfere = once(() => engine.set({ a: '2', b: '2' }))
    engine.beforeFetch = (names) => names.includes('texts/b') && interfere()
    const seen = await driver(engine).read(function* () {
      return [...(yield* read(at('a'))), ...(yield* read(at('b')))]
    }, [])
    expect(seen).toEqual(['2', '2'])
  })

  it('is the body’s very error when all it has read is unchanged', async () => {
    const engine = new SmallEngine()
    engine.rows.set('stones/there', { bytes: Buffer.from('x'), version: 'first' })
    const error = new Error('on purpose')
    const { body, runs } = counted(function* (scope: Scope): Transaction<void> {
      yield* read(at('a'), at('b'), stone('there'))
      scope.rely(at('a'))
      scope.write(at('c'), 'never')
      throw error
    })
    await expect(driver(engine).run(body, [])).rejects.toBe(error)
    expect(runs.count).toBe(1)
    expect(engine.commits).toHaveLength(1)
    expect(engine.commits[0]?.checks.map(nameOf)).toEqual(['texts/a', 'texts/b', 'stones/there'])
    expect(engine.commits[0]?.writes).toEqual([])
  })

  it('relies on immutable rows as well when it is an error, and on none when it is not', async () => {
    const engine = new SmallEngine()
    engine.rows.set('stones/there', { bytes: Buffer.from('x'), version: 'first' })
    for (const fails of [true, false]) {
      const work = driver(engine).run(function* (scope) {
        yield* read(at('a'), stone('there'))
        scope.write(at('b'), 'x')
        if (fails) throw new RangeError('on purpose')
      }, [])
      await (fails ? expect(work).rejects.toThrow(RangeError) : work)
      const expected = fails ? ['texts/a', 'stones/there'] : ['texts/a']
      expect(engine.commits.at(-1)?.checks.map(nameOf)).toEqual(expected)
    }
  })

  it('is not the refusal of a transaction that only a torn read has made too large', async () => {
    const engine = new SmallEngine()
    engine.set({ a: 'short', b: 'short' })
    const interfere = once(() => engine.set({ a: 'long', b: 'long' }))
    engine.beforeFetch = (names) => names.includes('texts/b') && interfere()
    await driver(engine).run(function* (scope) {
      const [a] = yield* read(at('a'))
      const [b] = yield* read(at('b'))
      scope.write(at('c'), a === b ? 'fits' : 'x'.repeat(101))
    }, [])
    expect(engine.text('c')).toBe('fits')
  })

  it('is not the refusal of reliance that only a torn read has misled', async () => {
    const engine = new SmallEngine()
    engine.set({ a: '1', b: '1' })
    const interfere = once(() => engine.set({ a: '2', b: '2' }))
    engine.beforeFetch = (names) => names.includes('texts/b') && interfere()
    const seen = await driver(engine).run(function* (scope) {
      const [a] = yield* read(at('a'))
      const [b] = yield* read(at('b'))
      scope.rely(at('a'), a === b ? at('b') : at('never read'))
      return [a, b]
    }, [])
    expect(seen).toEqual(['2', '2'])
  })

  it('is the error of an engine that fails in a way that does not pass, at once', async () => {
    const engine = new SmallEngine()
    const corrupt = new PrestigeError('CONTENT_CORRUPT', 'bad')
    for (const error of [corrupt, new TypeError('a bug')]) {
      engine.fetches.length = 0
      engine.beforeFetch = () => {
        throw error
      }
      await expect(driver(engine).run(append, ['a', 'x'])).rejects.toBe(error)
      expect(engine.fetches).toHaveLength(1)
    }
  })

  it('is the engine’s error with its cause when sending again does not help', async () => {
    const engine = new SmallEngine()
    engine.beforeFetch = () => {
      throw unavailable()
    }
    const runner = driver(engine)
    const work = runner.run(append, ['a', 'x'])
    await expect(work).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE', cause: 'a cable' })
    expect(engine.fetches).toHaveLength(6)
    expect(runner.sleeps).toEqual([1, 2, 4, 8, 16])
  })

  it('names the cell when others change it every time', async () => {
    const engine = new SmallEngine()
    engine.beforeCommit = () => engine.set({ hot: 'other' })
    const runner = driver(engine, { attemptsMax: 7 })
    const work = runner.run(append, ['hot', 'x'])
    await expect(work).rejects.toMatchObject({ code: 'CONTENDED', retryable: true })
    await expect(work).rejects.toThrow(/7 attempts.*texts\/hot/)
    expect(engine.commits).toHaveLength(7)
    expect(Math.max(...runner.sleeps)).toBeLessThanOrEqual(50)
  })
})

describe('a refused commit', () => {
  it('is followed at once by another run, from the values that came back', async () => {
    const engine = new SmallEngine()
    engine.beforeCommit = once(() => engine.set({ a: 'theirs ' }))
    const runner = driver(engine)
    await expect(runner.run(append, ['a', 'mine'])).resolves.toBe('theirs mine')
    expect(engine.fetches).toEqual([['texts/a']])
    expect(runner.sleeps).toEqual([])
    expect(engine.commits.map(({ version }) => version)).toEqual(['v1', 'v2'])
  })

  it('may be refused for no reason, again and again, and is tried with growing pauses', async () => {
    const engine = new SmallEngine()
    const refusals = 4
    vi.spyOn(engine, 'commit').mockImplementation(async (commit) => {
      engine.commits.push(commit)
      if (engine.commits.length <= refusals) return engine.refusal(commit)
      engine.rows.set('texts/a', { bytes: commit.writes[0]!.bytes!, version: commit.version })
      return { applied: true }
    })
    const runner = driver(engine)
    await expect(runner.run(append, ['a', 'x'])).resolves.toBe('x')
    expect(engine.commits).toHaveLength(refusals + 1)
    expect(runner.sleeps).toEqual([2, 4, 8])
    expect(engine.text('a')).toBe('x')
  })

  it('is refused as well when a cell was removed and written again as it was (ABA)', async () => {
    const engine = new SmallEngine()
    engine.set({ a: 'same' })
    engine.beforeCommit = once(() => {
      engine.set({ a: undefined })
      engine.set({ a: 'same' })
    })
    const { body, runs } = counted(append)
    await driver(engine).run(body, ['a', '!'])
    expect(runs.count).toBe(2)
    expect(engine.text('a')).toBe('same!')
  })

  it('lets later runs see what earlier ones have not: nothing is carried over', async () => {
    const engine = new SmallEngine()
    engine.set({ a: 'left' })
    engine.beforeCommit = once(() => engine.set({ a: 'right' }))
    const went = await driver(engine).run(function* (scope) {
      const [way = ''] = yield* read(at('a'))
      scope.write(at(way), 'been here')
      scope.add(cell(sums, Buffer.from(way)), 1)
      return way
    }, [])
    expect(went).toBe('right')
    expect(engine.text('left')).toBeUndefined()
    expect(engine.commits[1]?.writes.map(nameOf)).toEqual(['texts/right'])
    expect(engine.commits[1]?.additions).toHaveLength(1)
  })
})

describe('a lost reply', () => {
  it('makes the same commit go out again under the same version, and it is applied once', async () => {
    const engine = new SmallEngine()
    let lost = 0
    engine.afterCommit = () => {
      if (lost++ < 2) throw unavailable()
    }
    const { body, runs } = counted(append)
    await expect(driver(engine).run(body, ['a', 'x'])).resolves.toBe('x')
    expect(engine.commits.map(({ version }) => version)).toEqual(['v1', 'v1', 'v1'])
    expect(engine.text('a')).toBe('x')
    expect(runs.count).toBe(1)
  })

  it('of a commit that others have overtaken meanwhile is recognised all the same', async () => {
    const engine = new SmallEngine()
    const loseOne = once(() => {
      engine.set({ a: `${engine.text('a')} and theirs` })
      throw unavailable()
    })
    engine.afterCommit = loseOne
    await expect(driver(engine).run(append, ['a', 'mine'])).resolves.toBe('mine')
    expect(engine.text('a')).toBe('mine and theirs')
  })

  it('of a fetch is asked for again', async () => {
    const engine = new SmallEngine()
    engine.set({ a: 'x' })
    engine.beforeFetch = once(() => {
      throw unavailable()
    })
    await expect(driver(engine).run(append, ['a', 'y'])).resolves.toBe('xy')
    expect(engine.fetches).toHaveLength(2)
  })
})

describe('transactions that lost on one cell', () => {
  it('wait for each other instead of losing again', async () => {
    const engine = new SmallEngine()
    const runner = driver(engine)
    const count = 20
    await Promise.all(Array.from({ length: count }, () => runner.run(append, ['hot', 'x'])))
    expect(engine.text('hot')).toBe('x'.repeat(count))
    // One wins at first; the others go one by one. Without the queue it would be about half of n².
    expect(engine.commits.length).toBeLessThan(3 * count)
  })

  it('let the next one go when one of them throws', async () => {
    const engine = new SmallEngine()
    const runner = driver(engine)
    function* appendUpTo(scope: Scope, max: number): Transaction<string> {
      const text = yield* append(scope, 'hot', 'x')
      if (text.length > max) throw new RangeError('full')
      return text
    }
    const ends = await Promise.allSettled(
      Array.from({ length: 12 }, () => runner.run(appendUpTo, [5])),
    )
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(engine.text('hot')).toBe('xxxxx')
    await expect(runner.run(append, ['hot', '!'])).resolves.toBe('xxxxx!')
  })

  it('do not hold up those of another cell', async () => {
    const engine = new SmallEngine()
    const runner = driver(engine)
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const commit = engine.commit.bind(engine)
    let commitsOfHot = 0
    vi.spyOn(engine, 'commit').mockImplementation(async (one) => {
      if (one.writes.some((write) => nameOf(write) === 'texts/hot') && ++commitsOfHot > 2)
        await held
      return commit(one)
    })
    const hot = Promise.all([
      runner.run(append, ['hot', 'x']),
      runner.run(append, ['hot', 'x']),
      runner.run(append, ['hot', 'x']),
    ])
    await runner.run(append, ['cold', 'y'])
    expect(engine.text('cold')).toBe('y')
    release()
    await hot
    expect(engine.text('hot')).toBe('xxx')
  })
})

describe('what is asked of the engine', () => {
  it('is every cell once, and no cell the body has written itself', async () => {
    const engine = new SmallEngine()
    await driver(engine).run(function* (scope) {
      yield* read(at('a'), at('b'), at('a'))
      scope.write(at('c'), 'own')
      yield* read(at('b'), at('c'), at('d'))
      yield* read(at('a'), at('d'))
    }, [])
    expect(engine.fetches).toEqual([['texts/a', 'texts/b'], ['texts/d']])
  })

  it('is nothing but the writes when the body reads nothing', async () => {
    const engine = new SmallEngine()
    await driver(engine).run(function* (scope) {
      scope.write(at('a'), '1')
      scope.write(at('a'), '2')
      scope.remove(at('b'))
    }, [])
    expect(engine.fetches).toEqual([])
    expect(engine.commits).toMatchObject([{ checks: [], additions: [] }])
    expect(engine.commits[0]?.writes.map(nameOf)).toEqual(['texts/a', 'texts/b'])
    expect(engine.text('a')).toBe('2')
  })

  it('is no validation where one fetch is one moment and there was one', async () => {
    const engine = new SmallEngine()
    engine.fetchIsAtomic = true
    const runner = driver(engine)
    await runner.read(function* () {
      yield* read(at('a'), at('b'))
    }, [])
    expect(engine.commits).toHaveLength(0)
    await runner.read(mustBeSame, [])
    expect(engine.commits).toHaveLength(1)
  })

  it('is a check of every cell read, and of those glanced at that are named', async () => {
    const engine = new SmallEngine()
    const runner = driver(engine)
    const checked = async (...rely: Cell<unknown>[][]) => {
      await runner.run(function* (scope) {
        yield* read(at('r'))
        yield* glance(at('a'), at('b'), at('c'))
        for (const cells of rely) scope.rely(...cells)
        scope.write(at('d'), 'x')
      }, [])
      return engine.commits.at(-1)?.checks.map(nameOf)
    }
    expect(await checked()).toEqual(['texts/r'])
    expect(await checked([at('b')])).toEqual(['texts/r', 'texts/b'])
    const twice = await checked([at('c')], [at('a'), at('c'), at('r')])
    expect(twice).toEqual(['texts/r', 'texts/c', 'texts/a'])
    expect(await checked([])).toEqual(['texts/r'])
  })

  it('is a check of what was glanced at and read, in whatever order', async () => {
    const engine = new SmallEngine()
    const runner = driver(engine)
    await runner.run(function* (scope) {
      yield* glance(at('a'))
      yield* read(at('a'), at('b'))
      yield* glance(at('b'), at('c'))
      scope.write(at('d'), 'x')
    }, [])
    expect(engine.commits.at(-1)?.checks.map(nameOf)).toEqual(['texts/a', 'texts/b'])
  })

  it('is a check of immutable rows only where one is missing or named', async () => {
    const engine = new SmallEngine()
    const runner = driver(engine)
    await runner.run(function* (scope) {
      scope.write(stone('there'), 'x')
    }, [])
    const reading = (named: boolean) =>
      runner.run(function* (scope) {
        yield* read(stone('there'), stone('missing'), at('a'))
        if (named) scope.rely(stone('there'))
        scope.write(at('b'), 'x')
      }, [])
    await reading(false)
    expect(engine.commits.at(-1)?.checks.map(nameOf)).toEqual(['stones/missing', 'texts/a'])
    await reading(true)
    const named = engine.commits.at(-1)?.checks.map(nameOf)
    expect(named).toEqual(['stones/missing', 'texts/a', 'stones/there'])
  })

  it('is never more cells than its limit, each counted once', async () => {
    const engine = new SmallEngine()
    const limits = { keyBytesMax: 100, valueBytesMax: 100, cellsMax: 4 }
    const runner = driver(engine, { limits })
    const touching = (reads: string[], writes: string[], rely?: string[]) =>
      runner.run(function* (scope) {
        if (rely) yield* glance(...reads.map(at))
        else yield* read(...reads.map(at))
        for (const name of writes) scope.write(at(name), 'x')
        for (const name of writes) scope.add(cell(sums, Buffer.from('total')), name.length)
        if (rely) scope.rely(...rely.map(at))
      }, [])
    await touching(['a', 'b', 'c'], ['a', 'b', 'c', 'c'])
    await touching(['a', 'b', 'c', 'd', 'e', 'f'], ['a'], ['b', 'c'])
    const tooMany = touching(['a', 'b', 'c'], ['d'])
    await expect(tooMany).rejects.toMatchObject({ code: 'BODY_MISUSE' })
    expect(engine.text('d')).toBeUndefined()
  })

  it('is never `first`, and that is the body’s error', async () => {
    const work = driver(new SmallEngine()).run(function* () {
      return yield* first(texts, Buffer.from('a'))
    }, [])
    await expect(work).rejects.toMatchObject({ code: 'BODY_MISUSE' })
  })

  it('comes back as the body’s own bytes on every run', async () => {
    const engine = new SmallEngine()
    const bare = { encode: (bytes: Bytes) => bytes, decode: (bytes: Bytes) => bytes }
    const blobs: Space<Bytes> = rows('texts', bare)
    engine.set({ a: 'kept' })
    engine.beforeCommit = once(() => engine.set({ b: 'changed' }))
    const seen: string[] = []
    await driver(engine).run(function* (scope) {
      const [a] = yield* read(cell(blobs, Buffer.from('a')), at('b'))
      seen.push(String(a))
      a?.fill(0)
      scope.write(at('c'), 'x')
    }, [])
    expect(seen).toEqual(['kept', 'kept'])
    expect(engine.text('a')).toBe('kept')
  })
})

describe('a body that is run again', () => {
  it('gets the same ids in the same order, and the same time', async () => {
    const engine = new SmallEngine()
    let time = 1000
    const runner = driver(engine, { now: () => time++ })
    engine.beforeCommit = once(() => engine.set({ a: 'other' }))
    const seen: unknown[][] = []
    const body = function* (scope: Scope): Transaction<void> {
      const ids = [scope.id(), scope.id()]
      seen.push([...ids.map((id) => id.toString('hex')), scope.now()])
      ids[0]?.fill(0)
      yield* read(at('a'))
      scope.write(at('a'), 'x')
    }
    await runner.run(body, [])
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    await runner.run(body, [])
    expect(seen[2]).not.toEqual(seen[0])
  })

  it('gets more ids of its own when it asks for more than the run before', async () => {
    const engine = new SmallEngine()
    engine.beforeCommit = once(() => engine.set({ a: 'twice' }))
    const ids = await driver(engine).run(function* (scope) {
      const made = [scope.id()]
      const [a] = yield* read(at('a'))
      if (a === 'twice') made.push(scope.id())
      scope.write(at('b'), 'x')
      return made.map((id) => id.toString('hex'))
    }, [])
    expect(new Set(ids).size).toBe(2)
  })
})

describe('the audit', () => {
  const audited = (engine = new SmallEngine()) => driver(engine, { audit: true })
  const notDeterministic = { code: 'BODY_NOT_DETERMINISTIC' }

  it('finds a body that takes chance from elsewhere', async () => {
    const returned = audited().run(function* () {
      return Math.random()
    }, [])
    await expect(returned).rejects.toMatchObject(notDeterministic)
    const written = audited().run(function* (scope) {
      scope.write(at('a'), String(Math.random()))
    }, [])
    await expect(written).rejects.toMatchObject(notDeterministic)
  })

  it('finds a body that takes the time from elsewhere', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const engine = new SmallEngine()
    engine.beforeCommit = () => vi.advanceTimersByTime(1)
    const work = audited(engine).run(function* (scope) {
      yield* read(at('a'))
      scope.write(at('a'), String(Date.now()))
    }, [])
    await expect(work).rejects.toMatchObject(notDeterministic)
  })

  it('finds a body that changes what it is given', async () => {
    const changesList = audited().run(
      function* (scope, list: string[]) {
        scope.write(at('a'), list.pop() ?? 'nothing')
      },
      [['one', 'two']],
    )
    await expect(changesList).rejects.toMatchObject(notDeterministic)
    const changesBytes = audited().run(
      function* (scope, bytes: Buffer) {
        scope.write(at('a'), bytes.toString('hex'))
        bytes.fill(1)
      },
      [Buffer.alloc(4)],
    )
    await expect(changesBytes).rejects.toMatchObject(notDeterministic)
  })

  it('finds a body that asks, relies, adds or ends in another way', async () => {
    const bodies: ((runs: number, scope: Scope) => Transaction<unknown>)[] = [
      function* (runs) {
        return (yield* read(at(`cell ${runs}`))).length
      },
      function* (runs, scope) {
        yield* glance(at('a'), at('b'))
        scope.rely(at(runs === 1 ? 'a' : 'b'))
      },
      function* (runs, scope) {
        scope.add(cell(sums, Buffer.from('a')), runs)
      },
      function* (runs) {
        yield* read(at('a'))
        if (runs > 1) throw new Error('not the first time')
      },
      function* (runs) {
        yield* read(at('a'))
        if (runs === 1) throw new Error('only the first time')
      },
    ]
    for (const body of bodies) {
      let runs = 0
      const work = audited().run((scope) => body(++runs, scope), [])
      await expect(work).rejects.toMatchObject(notDeterministic)
    }
  })

  it('lets through what takes chance and time from its scope alone', async () => {
    const engine = new SmallEngine()
    const result = await audited(engine).run(
      function* (scope, given: { readonly name: string }) {
        const [a = ''] = yield* read(at(given.name))
        const id = scope.id()
        scope.write(at('b'), `${a}${id.toString('hex')}${scope.now()}`)
        scope.add(cell(sums, Buffer.from('a')), 1)
        scope.rely(at('a'))
        return { id, list: [yield* read(at('b'))] }
      },
      [{ name: 'a' }],
    )
    expect(result.id).toHaveLength(16)
    const error = new Error('always')
    const failing = audited(engine).run(function* () {
      yield* read(at('a'))
      throw error
    }, [])
    await expect(failing).rejects.toBe(error)
    const refused = audited(engine).run(function* (scope) {
      scope.write(at('k'.repeat(101)), 'x')
    }, [])
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_KEY' })
  })
})

describe('any history of a simulated world', () => {
  const faults: SimulatedFaults = { conflict: 0.1, lostReply: 0.15, failure: 0.05 }
  const accounts = ['a', 'b', 'c']

  function* transfer(scope: Scope, from: string, to: string): Transaction<void> {
    const [ours = '10'] = yield* read(at(from))
    const [theirs = '10'] = yield* read(at(to))
    if (Number(ours) === 0) throw new RangeError('nothing left')
    scope.write(at(from), String(Number(ours) - 1))
    scope.write(at(to), String(Number(theirs) + 1))
    scope.add(cell(sums, Buffer.from('transfers')), 1)
  }

  /** Three workers move money about; one of them crashes. Nothing may be lost, doubled or overdrawn. */
  async function history(seed: number): Promise<{ steps: number; rows: string[] }> {
    const world = new SimulatedWorld(seed, faults)
    world.onChange = () => {
      const values = world.rows(texts).map(({ bytes }) => Number(Buffer.from(bytes).toString()))
      const missing = accounts.length - values.length
      expect(values.reduce((sum, value) => sum + value, missing * 10)).toBe(30)
      expect(Math.min(...values)).toBeGreaterThanOrEqual(0)
    }
    let acknowledged = 0
    const work = [0, 1, 2].map(async (at) => {
      const backend = world.open(`worker ${at}`)
      for (let turn = 0; turn < 6; turn++) {
        const [from, to] = [accounts[(at + turn) % 3]!, accounts[(at + turn + 1) % 3]!]
        await backend.run(transfer, from, to).then(
          () => acknowledged++,
          (error: unknown) => expect(error).toBeInstanceOf(RangeError),
        )
      }
    })
    // The first worker is one that crashes: its promise never settles.
    setImmediate(() => setImmediate(() => world.crash('worker 0')))
    await Promise.all(work.slice(1))
    const [total] = await world.open('reader').read(function* () {
      return yield* read(cell(sums, Buffer.from('transfers')))
    })
    expect(total ?? 0).toBeGreaterThanOrEqual(acknowledged)
    expect(total ?? 0).toBeLessThanOrEqual(acknowledged + 1)
    return { steps: world.steps, rows: world.rows(texts).map((row) => `${row.key}=${row.bytes}`) }
  }

  it('keeps every invariant, at every commit', async () => {
    for (let seed = 0; seed < 100; seed++) await history(seed)
  })

  it('is the same for the same seed', async () => {
    for (const seed of [3, 14, 15]) expect(await history(seed)).toEqual(await history(seed))
  })
})
