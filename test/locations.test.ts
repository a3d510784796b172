/**
 * Resolvers, ledgers and job states are carried from engine to engine by archives, verified and listed: over memory,
 * LMDB, the simulated engine, Redis and DynamoDB.
 */

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { type Backend, cell, type Scope, type Space } from '../src/backends/index.ts'
import { createTables } from '../src/backends/dynamodb/index.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/index.ts'
import { documents, evidences as dedupeEvidence } from '../src/dedupe/rows.ts'
import {
  archiveLocation,
  archiveStore,
  listLocation,
  openDedupe,
  openLedger,
  openResolver,
  openStore,
  restoreLocation,
  restoreStore,
  verifyLocation,
} from '../src/index.ts'
import { dedupeSpaces } from '../src/dedupe/index.ts'
import { resolverSpaces } from '../src/resolve/index.ts'
import { lines } from '../src/ledger/rows.ts'
import { ledgerSpaces } from '../src/ledger/index.ts'
import { evidences, members, resolverTallies, textNear } from '../src/resolve/rows.ts'
import { openBackend } from '../src/backends/open.ts'
import { corpus, jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'
import { dynamoIsHere, type DynamoServer, startDynamo } from './servers/dynamodb.ts'
import { redisIsHere, type RedisServer, startRedis } from './servers/redis.ts'

let directory = ''
let redis: RedisServer | undefined
let dynamo: DynamoServer | undefined
let places = 0

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-locations-'))
  if (redisIsHere()) redis = await startRedis()
  if (dynamoIsHere()) dynamo = await startDynamo()
}, 60_000)
afterAll(async () => {
  await Promise.all([redis?.stop(), dynamo?.stop()])
  await rm(directory, { recursive: true })
})

/** Every call opens the same place: a location, or another backend on the same data. */
type Place = () => string | Backend

const engines: Record<string, () => Promise<Place>> = {
  memory: async () => {
    const engine = new MemoryEngine()
    return () => new MemoryBackend({}, engine)
  },
  simulated: async () => {
    const world = new SimulatedWorld(places++)
    world.limits = { keyBytesMax: 2048, valueBytesMax: 512 * 1024, cellsMax: 1000 }
    return () => world.open(`worker ${places++}`, { clock: Date.now })
  },
  lmdb: async () => {
    const path = join(directory, `place-${places++}`)
    return () => path
  },
  redis: async () => {
    const location = `${redis!.url}?prefix=place-${places++}`
    return () => location
  },
  dynamodb: async () => {
    const location = dynamo!.location(`place-${places++}`)
    await createTables(location, { shards: 2 })
    return () => location
  },
}

const journeys = [
  ['lmdb', 'memory'],
  ['memory', 'simulated'],
  ['simulated', 'lmdb'],
  ...(redisIsHere()
    ? [
        ['lmdb', 'redis'],
        ['redis', 'lmdb'],
      ]
    : []),
  ...(dynamoIsHere()
    ? [
        ['lmdb', 'dynamodb'],
        ['dynamodb', 'lmdb'],
      ]
    : []),
] as [string, string][]

async function archived(place: Place, options = {}): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of archiveLocation(place(), options)) parts.push(part)
  return Buffer.concat(parts)
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.byteLength; at += 1000) yield bytes.subarray(at, at + 1000)
}

async function carried(from: Place, to: Place): Promise<void> {
  const archive = await archived(from)
  const { rows } = await restoreLocation(to(), inPieces(archive))
  expect(rows).toBeGreaterThan(0)
  // Everything came along: an archive of the copy differs in its id alone.
  expect((await archived(to)).byteLength).toBe(archive.byteLength)
  for (const place of [from, to]) {
    const reports = await verifyLocation(place())
    expect(reports.map(({ problems, isSound }) => [problems, isSound])).toEqual([[[], true]])
  }
}

const text = textMaker(7)
const texts = Array.from({ length: 30 }, () => text(40))

async function fillResolver(place: Place) {
  const resolver = await openResolver(place(), { vector: { dimensions: 8, threshold: 0.9 } })
  const ids: string[] = []
  for (const one of texts) ids.push((await resolver.resolve('web', one)).id)
  for (const one of texts.slice(0, 9)) await resolver.resolve('web', `${one} more`)
  for (const one of texts.slice(0, 5)) await resolver.resolve('books', one)
  await resolver.resolve('vectors', [1, 2, 3, 4, 5, 6, 7, 8])
  await resolver.resolve('vectors', [1, 2, 3, 4, 5, 6, 7, 8.1])
  await resolver.delete('web', { id: ids[29]! })
  await resolver.close()
  return ids
}

async function fillLedger(place: Place): Promise<void> {
  const ledger = await openLedger(place())
  await ledger.startRun({ id: 'one' })
  await ledger.startRun({ id: 'two' })
  for (let at = 0; at < 20; at++) {
    const line = { id: `d${at}`, source: at % 2 ? 'web' : 'books', status: 'accepted' as const }
    await ledger.record([{ ...line, run: 'one' }])
    if (at % 5 === 0) await ledger.record([{ ...line, status: 'failed', run: 'two' }])
  }
  await ledger.record([{ id: 'alone', status: 'rejected', detail: 'empty' }])
  await ledger.close()
}

describe.each(journeys)('from %s to %s', (fromName, toName) => {
  it('a resolver knows everything it knew', async () => {
    const [from, to] = [await engines[fromName]!(), await engines[toName]!()]
    const ids = await fillResolver(from)
    await carried(from, to)
    const resolver = await openResolver(to())
    for (const [at, one] of texts.slice(0, 29).entries()) {
      expect(await resolver.resolve('web', one)).toMatchObject({ id: ids[at], status: 'exact' })
    }
    const near = await resolver.resolve('web', `${texts[3]} again`)
    expect(near).toMatchObject({ id: ids[3], status: 'match' })
    expect(await resolver.resolve('web', texts[29]!)).toMatchObject({ status: 'new' })
    const like = await resolver.resolve('vectors', [1, 2, 3, 4, 5, 6, 7, 8.2])
    expect(like.status).toBe('match')
    expect(await resolver.stats('web')).toMatchObject({ clusters: 30, members: 10 })
    await resolver.close()
    expect((await verifyLocation(to())).map(({ problems }) => problems)).toEqual([[]])
  }, 60_000)

  it('a ledger has the same lines, runs and counts', async () => {
    const [from, to] = [await engines[fromName]!(), await engines[toName]!()]
    await fillLedger(from)
    await carried(from, to)
    const [old, copy] = [await openLedger(from()), await openLedger(to())]
    expect(await copy.counts()).toEqual(await old.counts())
    for (const run of ['one', 'two']) {
      const linesOfRun = async (ledger: typeof old) => {
        const found: unknown[] = []
        for await (const line of ledger.byRun(run)) found.push(line)
        return found
      }
      expect(await linesOfRun(copy)).toEqual(await linesOfRun(old))
    }
    await Promise.all([old.close(), copy.close()])
  }, 60_000)

  it('an interrupted run goes on where it was', async () => {
    const [from, to] = [await engines[fromName]!(), await engines[toName]!()]
    const name = `run-${places++}`
    const input = join(directory, `${name}-in`)
    const docs = corpus(120, 5)
    writeFiles(input, { 'a.jsonl': jsonl(docs.slice(0, 60)), 'b.jsonl': jsonl(docs.slice(60)) })
    const out = join(directory, name)
    const job = (signal?: AbortSignal) => {
      let decided = 0
      const stop = new AbortController()
      const onDecision = () => void (++decided === 40 && stop.abort(new Error('enough')))
      const watcher = signal ? { threads: 0 } : { threads: 0, signal: stop.signal, onDecision }
      return { inputs: [input], out, run: 'night', watcher, sharing: { leaseMs: 1000 } }
    }
    const first = await openDedupe(from())
    await first.run(job()).catch(() => undefined)
    expect((await first.runs())[0]).toMatchObject({ status: 'deciding' })
    await first.close()
    await carried(from, to)
    const second = await openDedupe(to())
    const result = await second.run(job(AbortSignal.abort()))
    const whole = await openDedupe('memory:')
    const wanted = await whole.run({ inputs: [input], out: join(directory, `${name}-whole`) })
    expect(result.summary.documents).toBe(wanted.summary.documents)
    expect(result.summary.kept).toBe(wanted.summary.kept)
    const idsOf = (path: string) =>
      linesOf(join(path, 'duplicates.jsonl'))
        .map(({ id }) => String(id))
        .toSorted((one, other) => one.localeCompare(other))
    expect(idsOf(out)).toEqual(idsOf(join(directory, `${name}-whole`)))
    await Promise.all([second.close(), whole.close()])
    expect((await verifyLocation(to())).map(({ problems }) => problems)).toEqual([[]])
  }, 90_000)
})

describe('an archive', () => {
  it('of a store is what it was, and is read as before', async () => {
    const [from, to] = [await engines['lmdb']!(), await engines['memory']!()]
    await using store = await openStore(from())
    await store.put('a', 'one')
    const archive = await archived(from)
    expect(archive.toString('latin1', 0, 19)).toBe('prestige archive 1\n')
    const same: Buffer[] = []
    for await (const part of archiveStore(from())) same.push(part)
    expect(archive.equals(Buffer.concat(same))).toBe(true)
    await using copy = await openStore(to())
    await restoreStore(copy, inPieces(archive))
    expect(await copy.getText('a')).toBe('one')
    await expect(restoreLocation(to(), inPieces(archive))).rejects.toThrow(/archive of a store/)
  })

  it('that is damaged anywhere is refused, and nobody can open what came of it', async () => {
    const from = await engines['memory']!()
    await fillResolver(from)
    const archive = await archived(from)
    for (const at of [3, 700, Math.floor(archive.byteLength / 2), archive.byteLength - 20]) {
      const to = await engines['memory']!()
      const wrong = Buffer.from(archive)
      wrong[at] = wrong[at]! ^ 1
      await expect(restoreLocation(to(), inPieces(wrong))).rejects.toMatchObject({
        kind: 'corrupt',
      })
      const opened = openResolver(to()).then((resolver) => resolver.stats('web'))
      const outcome = await opened.catch((error: unknown) => error)
      if (at >= 700) expect(outcome).toMatchObject({ code: 'FORMAT_UNSUPPORTED' })
      else expect(outcome).toMatchObject({ clusters: 0 })
    }
    const cut = restoreLocation((await engines['memory']!())(), inPieces(archive.subarray(0, 900)))
    await expect(cut).rejects.toMatchObject({ code: 'ARCHIVE_BROKEN' })
  })

  it('can be restored again after it was interrupted, and only that one', async () => {
    const [from, to] = [await engines['lmdb']!(), await engines['simulated']!()]
    await fillResolver(from)
    const archive = await archived(from)
    for (const at of [0.3, 0.6, 0.95]) {
      const part = archive.subarray(0, Math.floor(archive.byteLength * at))
      await expect(restoreLocation(to(), inPieces(part))).rejects.toThrow(/cut off/)
    }
    const other = await archived(from)
    await expect(restoreLocation(to(), inPieces(other))).rejects.toThrow(/unfinished/)
    await restoreLocation(to(), inPieces(archive))
    expect((await verifyLocation(to()))[0]).toMatchObject({ isSound: true })
    expect((await archived(to)).byteLength).toBe(archive.byteLength)
    const again = restoreLocation(to(), inPieces(archive))
    await expect(again).rejects.toMatchObject({ code: 'TARGET_NOT_EMPTY' })
  }, 60_000)

  it('is not finished when something was written meanwhile', async () => {
    const place = await engines['memory']!()
    await fillLedger(place)
    const archive = archiveLocation(place())
    await archive.next()
    await archive.next()
    await using ledger = await openLedger(place())
    await ledger.record([{ id: 'new', status: 'accepted' }])
    const rest = (async () => {
      for await (const _part of archive);
    })()
    await expect(rest).rejects.toMatchObject({ code: 'CONTENDED' })
  })

  it('of one of several things has to be named', async () => {
    const place = await engines['lmdb']!()
    await fillLedger(place)
    await fillResolver(place)
    await expect(archived(place)).rejects.toThrow(/resolver, ledger/)
    const to = await engines['memory']!()
    const archive = await archived(place, { kind: 'ledger' })
    expect(await restoreLocation(to(), inPieces(archive))).toMatchObject({ kind: 'ledger' })
    await expect(archived(place, { kind: 'state' })).rejects.toMatchObject({
      code: 'STORE_NOT_FOUND',
    })
  })
})

describe('verification', () => {
  async function damagedAt<V>(
    fill: (place: Place) => Promise<unknown>,
    spaces: readonly Space<unknown>[],
    space: Space<V>,
    damage: (scope: Scope, key: Buffer) => void,
  ) {
    const place = await engines['lmdb']!()
    await fill(place)
    const backend = await openBackend(place() as string, { spaces })
    for await (const { key } of backend.scan(space)) {
      await backend.run(function* (scope) {
        damage(scope, key)
      })
      break
    }
    await backend.close()
    const [report] = await verifyLocation(place())
    expect(report).toMatchObject({ isSound: false })
    return report!.problems.map(({ kind }) => kind)
  }

  const raw = <V>(space: Space<V>): Space<Uint8Array> => ({
    ...space,
    codec: { encode: (bytes) => bytes, decode: (bytes) => bytes },
  })
  const remove = (space: Space<unknown>) => (scope: Scope, key: Buffer) =>
    scope.remove(cell(space, key))

  it('of a resolver finds what is missing or wrong', async () => {
    const at = <V>(space: Space<V>, damage: (scope: Scope, key: Buffer) => void) =>
      damagedAt(fillResolver, resolverSpaces, space, damage)
    expect(await at(evidences, remove(evidences))).toEqual(['reference-broken'])
    const unlisted = await at(members, remove(members))
    expect(unlisted.toSorted()).toEqual(['reference-broken', 'tallies-wrong'])
    expect(await at(textNear.journal, remove(textNear.journal))).toEqual(['index-wrong'])
    expect(await at(textNear.representatives, remove(textNear.representatives))).toContain(
      'reference-broken',
    )
    const tally = (scope: Scope, key: Buffer) => scope.add(cell(resolverTallies, key), 1)
    const named = Buffer.concat([randomBytes(16), Buffer.from('members')])
    expect(await at(members, (scope) => tally(scope, named))).toEqual(['tallies-wrong'])
    const garbage = (scope: Scope, key: Buffer) =>
      scope.write(cell(raw(members), key), Buffer.from('garbage'))
    expect(await at(members, garbage)).toContain('row-unreadable')
  }, 60_000)

  it('of a ledger finds what is missing', async () => {
    const kinds = await damagedAt(fillLedger, ledgerSpaces, lines, remove(lines))
    expect(kinds).toContain('reference-broken')
    expect(kinds).toContain('tallies-wrong')
  })

  it('of a job state finds what is missing', async () => {
    const fill = async (place: Place) => {
      const deduper = await openDedupe(place())
      for await (const _decision of deduper.dedupe(corpus(40, 3)));
      await deduper.close()
      expect((await verifyLocation(place()))[0]).toMatchObject({ isSound: true })
    }
    const at = <V>(space: Space<V>) => damagedAt(fill, dedupeSpaces, space, remove(space))
    expect(await at(documents)).toContain('reference-broken')
    expect(await at(dedupeEvidence)).toEqual(['reference-broken'])
  }, 60_000)

  it('of a state after several runs, one of them undone, finds nothing', async () => {
    const place = await engines['lmdb']!()
    const deduper = await openDedupe(place(), { keep: ['longest'], chunks: { enabled: true } })
    for (const [at, run] of ['one', 'two', 'three'].entries()) {
      for await (const _decision of deduper.dedupe(corpus(60, at % 2), { run }));
    }
    await deduper.undo('three')
    await deduper.close()
    expect((await verifyLocation(place())).map(({ problems }) => problems)).toEqual([[]])
  })
})

const here = ['lmdb', ...(redisIsHere() ? ['redis'] : []), ...(dynamoIsHere() ? ['dynamodb'] : [])]

describe.each(here)('listing %s', (name) => {
  it('names everything, in every namespace', async () => {
    const place = (await engines[name]!())() as string
    for (const namespace of ['', 'a}b', 'ж']) {
      await using store = await openStore(place, { namespace })
      await store.put('a', 'one')
      await store.put('b', 'one')
    }
    const ledger = await openLedger(place, { namespace: 'a}b' })
    await ledger.record([{ id: 'x', status: 'accepted' }])
    await ledger.close()
    await (await openResolver(place, { namespace: 'r' })).resolve('g', texts[0]!)
    const deduper = await openDedupe(place, { namespace: 's' })
    for await (const _decision of deduper.dedupe([{ id: 'd', text: texts[1]! }]));
    await deduper.close()
    const listed = await listLocation(place)
    expect(
      listed.map(({ kind, namespace, format, counts }) => [namespace, kind, format, counts]),
    ).toMatchObject([
      ['', 'store', 3, { keys: 2, contents: 1 }],
      ['a}b', 'store', 3, { keys: 2, contents: 1 }],
      ['a}b', 'ledger', 1, { lines: 1 }],
      ['r', 'resolver', 1, { groups: 1, clusters: 1 }],
      ['s', 'state', 4, { documents: 1 }],
      ['ж', 'store', 3, { keys: 2, contents: 1 }],
    ])
  }, 60_000)
})

it('lists nothing where nothing is', async () => {
  await expect(listLocation('memory:')).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' })
  await expect(listLocation(join(directory, 'none'))).rejects.toMatchObject({
    code: 'STORE_NOT_FOUND',
  })
  await expect(listLocation('ftp://x/y')).rejects.toMatchObject({ code: 'INVALID_LOCATION' })
})
