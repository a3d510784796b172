import { setTimeout as sleep } from 'node:timers/promises'

import { beforeEach, describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../backends/memory/backend.ts'
import { openLedger } from './open.ts'
import type { Ledger } from './ledger.ts'
import { prepareLine, recordLine } from './lines.ts'
import { settings } from './rows.ts'
import { type Claims, withClaim } from './with-claim.ts'

let time: number
let ledger: Ledger
const clock = () => time
const lease = { leaseMs: 100 }

beforeEach(async () => {
  time = 1_700_000_000_000
  ledger = await openLedger('memory:', { clock })
})

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

async function claimOf(id: string, options = {}) {
  const claim = await ledger.claim(id, { ...lease, ...options })
  if (!claim.ok) throw new Error(claim.reason)
  return claim
}

describe('a claim', () => {
  it('is not done, and keeps others away until it is', async () => {
    const claim = await claimOf('a', { source: 'web', worker: 'w1' })
    expect(await ledger.wasProcessed('a')).toBe(false)
    expect(await ledger.claim('a', lease)).toMatchObject({
      ok: false,
      reason: 'claimed',
      line: { worker: 'w1', leaseUntil: time + 100 },
    })
    expect(await ledger.commit(claim, { status: 'accepted', detail: 'ok' })).toEqual({
      id: 'a',
      status: 'accepted',
      at: time,
      token: claim.token,
      source: 'web',
      worker: 'w1',
      detail: 'ok',
    })
    expect(await ledger.wasProcessedMany(['b', 'a'])).toEqual([false, true])
    expect(await ledger.claim('a', lease)).toMatchObject({ ok: false, reason: 'processed' })
  })

  it('can be taken over in the very millisecond its lease is over, and not before', async () => {
    const first = await claimOf('a')
    time += 99
    expect((await ledger.claim('a', lease)).ok).toBe(false)
    time += 1
    const second = await claimOf('a')
    expect(second.token).toBeGreaterThan(first.token)
    for (const late of [
      ledger.commit(first, { status: 'accepted' }),
      ledger.abort(first),
      ledger.renew(first, 100),
    ]) {
      await expect(late).rejects.toMatchObject({ code: 'CLAIM_LOST', retryable: false })
    }
    await ledger.commit(second, { status: 'rejected' })
    expect(await ledger.get('a')).toMatchObject({ status: 'rejected', token: second.token })
  })

  it('lives on when it is renewed, and can be committed late if nobody took it', async () => {
    const claim = await claimOf('a')
    time += 90
    await ledger.renew(claim, 100)
    time += 90
    expect((await ledger.claim('a', lease)).ok).toBe(false)
    time += 1000
    expect(await ledger.commit(claim, { status: 'accepted' })).toMatchObject({ status: 'accepted' })
  })

  it('may be committed again after a lost answer, but not otherwise', async () => {
    const claim = await claimOf('a')
    await ledger.commit(claim, { status: 'accepted' })
    await ledger.commit(claim, { status: 'accepted' })
    await expect(ledger.abort(claim)).rejects.toMatchObject({ code: 'CLAIM_LOST' })
    expect(await ledger.counts()).toMatchObject({ accepted: 1, total: 1 })
  })

  it('that was given up leaves a failed line, and anybody may try again', async () => {
    await ledger.abort(await claimOf('a'), { reason: 'out of paper' })
    expect(await ledger.get('a')).toMatchObject({ status: 'failed', detail: 'out of paper' })
    expect(await ledger.wasProcessed('a')).toBe(false)
    expect((await ledger.claim('a', lease)).ok).toBe(true)
  })

  it('of a document that was forgotten meanwhile is lost, also when it is claimed again at once', async () => {
    const claim = await claimOf('a')
    time += 1
    expect(await ledger.forget('a')).toBe(true)
    await claimOf('a')
    await expect(ledger.commit(claim, { status: 'accepted' })).rejects.toMatchObject({
      code: 'CLAIM_LOST',
    })
  })
})

describe('withClaim', () => {
  it('commits what the work returns, and accepted if it returns nothing', async () => {
    const done = await ledger.withClaim('a', lease, async () => {})
    expect(done).toMatchObject({ ok: true, line: { status: 'accepted' } })
    const dup = { status: 'duplicate', of: 'a' } as const
    expect(await ledger.withClaim('b', lease, async () => dup)).toMatchObject({ line: dup })
    expect(await ledger.withClaim('b', lease, async () => dup)).toMatchObject({
      ok: false,
      reason: 'processed',
    })
  })

  it('gives up with the reason when the work throws, and throws it on', async () => {
    const work = async () => Promise.reject(new Error('no such page'))
    await expect(ledger.withClaim('a', lease, work)).rejects.toThrow('no such page')
    expect(await ledger.get('a')).toMatchObject({ status: 'failed', detail: 'no such page' })
  })

  it('renews while the work goes on, and tells the work when the claim is lost', async () => {
    const real = await openLedger('memory:')
    await real.withClaim('a', { leaseMs: 60 }, async () => {
      await sleep(200)
      expect((await real.claim('a', lease)).ok).toBe(false)
    })
    const lost = real.withClaim('b', { leaseMs: 30 }, async ({ signal }) => {
      await real.record([{ id: 'b', status: 'rejected' }])
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    await expect(lost).rejects.toMatchObject({ code: 'CLAIM_LOST' })
    expect(await real.get('b')).toMatchObject({ status: 'rejected' })
  })

  it('renews no more once the work has ended, well or badly', async () => {
    let renewed = 0
    const claims: Claims = {
      claim: (id, options) => ledger.claim(id, options),
      commit: (claim, outcome) => ledger.commit(claim, outcome),
      abort: (claim, why) => ledger.abort(claim, why),
      renew: (claim, leaseMs) => {
        renewed++
        return ledger.renew(claim, leaseMs)
      },
    }
    await withClaim(claims, 'a', { leaseMs: 3 }, () => sleep(30))
    const atCommit = renewed
    await sleep(30)
    expect(renewed).toBe(atCommit)
    const bad = withClaim(claims, 'b', { leaseMs: 3 }, () => sleep(30).then(() => Promise.reject()))
    await expect(bad).rejects.toBeUndefined()
    const atEnd = renewed
    expect(atEnd).toBeGreaterThan(atCommit)
    await sleep(30)
    expect(renewed).toBe(atEnd)
  })
})

describe('runs', () => {
  it('are resumed with the same configuration only, and take nothing once ended', async () => {
    expect(await ledger.startRun({ id: 'r', configDigest: 'x' })).toMatchObject({
      isResumed: false,
    })
    expect(await ledger.startRun({ id: 'r', configDigest: 'x' })).toMatchObject({ isResumed: true })
    const other = ledger.startRun({ id: 'r', configDigest: 'y' })
    await expect(other).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
    await ledger.record([{ id: 'a', status: 'accepted', run: 'r' }])
    time += 5
    await ledger.finishRun('r')
    const late = ledger.claim('b', { ...lease, run: 'r' })
    await expect(late).rejects.toMatchObject({ code: 'RUN_ENDED' })
    const unknown = ledger.claim('b', { ...lease, run: 'q' })
    await expect(unknown).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
    expect(await all(ledger.runs())).toEqual([
      {
        id: 'r',
        status: 'finished',
        startedAt: time - 5,
        endedAt: time,
        shards: 0,
        configDigest: 'x',
        counts: expect.objectContaining({ accepted: 1, total: 1 }),
      },
    ])
    const [first, second] = [await ledger.startRun(), await ledger.startRun()]
    expect(first.run.id).not.toBe(second.run.id)
  })

  it('are undone last first, and what they replaced is in force again', async () => {
    for (const id of ['r1', 'r2']) await ledger.startRun({ id })
    await ledger.record([{ id: 'a', status: 'accepted', source: 's', detail: 'own' }])
    await ledger.record([{ id: 'a', status: 'rejected', run: 'r1' }])
    await ledger.record([{ id: 'a', status: 'duplicate', of: 'b', run: 'r2', source: 't' }])
    await ledger.record([{ id: 'n', status: 'accepted', run: 'r1' }])
    expect(await ledger.forgetRun('r1')).toEqual({ removed: 1, restored: 0, replaced: 1 })
    expect(await all(ledger.byRun('r1'))).toMatchObject([{ status: 'rejected', isReplaced: true }])
    expect(await ledger.forgetRun('r2')).toEqual({ removed: 0, restored: 1, replaced: 0 })
    expect(await ledger.get('a')).toMatchObject({ status: 'rejected', run: 'r1' })
    expect(await ledger.forgetRun('r1')).toEqual({ removed: 0, restored: 1, replaced: 0 })
    expect(await ledger.get('a')).toMatchObject({ status: 'accepted', detail: 'own', source: 's' })
    expect(await ledger.get('n')).toBeUndefined()
    expect(await ledger.counts({ run: 'r1' })).toMatchObject({ total: 0 })
    expect(await ledger.counts({ source: 't' })).toMatchObject({ total: 0 })
    expect(await ledger.counts({ source: 's' })).toMatchObject({ accepted: 1, total: 1 })
  })

  it('of which a claim was taken back cannot be committed to', async () => {
    await ledger.startRun({ id: 'r' })
    await ledger.record([{ id: 'a', status: 'failed' }])
    const claim = await claimOf('a', { run: 'r' })
    expect(await ledger.forgetRun('r')).toMatchObject({ restored: 1 })
    const late = ledger.commit(claim, { status: 'failed' })
    await expect(late).rejects.toMatchObject({ code: 'CLAIM_LOST' })
  })
})

describe('lists', () => {
  it('come in one order, page by page, with every line once', async () => {
    await ledger.startRun({ id: 'r' })
    const ids = Array.from({ length: 205 }, (_, at) => `документ ${at} 🎩`)
    await ledger.record(ids.map((id) => ({ id, status: 'accepted', source: 's', run: 'r' })))
    const listed = (await all(ledger.bySource('s'))).map(({ id }) => id)
    expect(listed.toSorted()).toEqual(ids.toSorted())
    const paged: string[] = []
    for (;;) {
      const page = await all(ledger.byRun('r', { startAfter: paged.at(-1), limit: 50 }))
      paged.push(...page.map(({ id }) => id))
      if (page.length < 50) break
    }
    expect(paged).toEqual(listed)
    expect(await all(ledger.bySource('s', { limit: 0 }))).toEqual([])
    expect(await all(ledger.bySource('t'))).toEqual([])
  })
})

describe('record', () => {
  it('keeps the order of lines of one document, and writes the others when one is refused', async () => {
    const lines = [1, 2, 3].map((detail) => ({
      id: 'a',
      status: 'accepted' as const,
      detail: String(detail),
    }))
    expect(await ledger.record(lines)).toMatchObject([undefined, { detail: '1' }, { detail: '2' }])
    expect(await ledger.get('a')).toMatchObject({ detail: '3' })
    const bad = ledger.record([
      { id: 'b', status: 'accepted', run: 'none' },
      { id: 'c', status: 'accepted' },
    ])
    await expect(bad).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
    expect(await ledger.wasProcessedMany(['b', 'c'])).toEqual([false, true])
  })
})

describe('retention', () => {
  it('counts a line no more from that millisecond on, and prune takes it away', async () => {
    const short = await openLedger('memory:', { clock, retentionMs: 1000 })
    await short.record([{ id: 'a', status: 'accepted', source: 's' }])
    time += 999
    expect(await short.wasProcessed('a')).toBe(true)
    time += 1
    expect(await short.wasProcessed('a')).toBe(false)
    expect(await all(short.bySource('s'))).toEqual([])
    expect(await short.counts()).toMatchObject({ total: 1 })
    expect((await short.claim('a', { leaseMs: 5000 })).ok).toBe(true)
    time += 2000
    expect(await short.prune()).toEqual({ lines: 0, oldLines: 0, runs: 0 })
    time += 5000
    expect(await short.prune()).toEqual({ lines: 1, oldLines: 0, runs: 0 })
    expect(await short.counts()).toMatchObject({ total: 0 })
    await expect(ledger.prune()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('takes a long history away in pieces', async () => {
    for (let run = 0; run < 100; run++) {
      await ledger.startRun({ id: `r${run}` })
      await ledger.record([{ id: 'a', status: 'accepted', run: `r${run}` }])
      time += 1
    }
    const olderThan = time - 10
    expect(await ledger.prune({ olderThan })).toEqual({ lines: 0, oldLines: 90, runs: 0 })
    expect(await ledger.counts({ run: 'r5' })).toMatchObject({ total: 0 })
    expect(await ledger.counts({ run: 'r95' })).toMatchObject({ total: 1 })
    expect(await ledger.prune({ olderThan: time })).toMatchObject({ lines: 1, oldLines: 9 })
  })
})

describe('reconcile', () => {
  const target = new Set(['a', 'c', 'new'])
  const exists = async (ids: readonly string[]) => ids.map((id) => target.has(id))

  beforeEach(() =>
    ledger.record([
      { id: 'a', status: 'accepted', source: 's' },
      { id: 'b', status: 'accepted', source: 's' },
      { id: 'c', status: 'failed' },
      { id: 'd', status: 'duplicate' },
    ]),
  )

  it('only tells with dryRun', async () => {
    const report = await ledger.reconcile(exists, { dryRun: true, present: target })
    expect(report).toEqual({
      checked: 2,
      missing: 1,
      unrecorded: 2,
      leftAlone: 0,
      missingIds: ['b'],
      unrecordedIds: ['c', 'new'],
    })
    expect(await ledger.counts()).toMatchObject({ accepted: 2, failed: 1 })
  })

  it('makes failed what the target lacks, and accepted what it has', async () => {
    await claimOf('held')
    await ledger.reconcile(exists, { present: [...target, 'held'] })
    expect(await ledger.wasProcessedMany(['a', 'b', 'c', 'new', 'held'])).toEqual([
      true,
      false,
      true,
      true,
      false,
    ])
    expect((await ledger.get('b'))?.detail).toContain('the target does not have it')
    expect((await ledger.claim('b', lease)).ok).toBe(true)
    expect(await ledger.reconcile(exists, { source: 'other' })).toMatchObject({ checked: 0 })
  })

  it('believes no answer that is too short, and touches nothing that changed meanwhile', async () => {
    const short = ledger.reconcile(async () => [false])
    await expect(short).rejects.toMatchObject({ code: 'INVALID_VALUE' })
    expect(await ledger.counts()).toMatchObject({ accepted: 2 })
    const report = await ledger.reconcile(async (ids) => {
      await ledger.record([{ id: 'b', status: 'accepted' }])
      return ids.map((id) => id !== 'b')
    })
    expect(report).toMatchObject({ missing: 0, leftAlone: 1 })
  })
})

describe('shards', () => {
  beforeEach(async () => {
    await ledger.startRun({ id: 'r' })
    await ledger.openShards('r', 2)
  })
  const by = (worker: string) => ledger.lease('r', { worker, leaseMs: 100 })

  it('are leased once, taken over with their progress, and done once', async () => {
    const [one, two] = [await by('w1'), await by('w2')]
    if (typeof one === 'string' || typeof two === 'string') throw new Error('none')
    expect(new Set([one.shard, two.shard])).toEqual(new Set([0, 1]))
    expect(await by('w3')).toBe('none-free')
    time += 60
    await ledger.progress('r', one.shard, one.token, { line: 7 })
    await ledger.done('r', two.shard, two.token, 'fine')
    await ledger.done('r', two.shard, two.token, 'fine')
    time += 99
    expect(await by('w3')).toBe('none-free')
    time += 1
    const taken = await by('w3')
    expect(taken).toMatchObject({ shard: one.shard, progress: { line: 7 } })
    if (typeof taken === 'string') throw new Error(taken)
    for (const late of [
      ledger.progress('r', one.shard, one.token, 1),
      ledger.done('r', one.shard, one.token),
      ledger.release('r', one.shard, one.token),
    ]) {
      await expect(late).rejects.toMatchObject({ code: 'CLAIM_LOST' })
    }
    await ledger.release('r', taken.shard, taken.token)
    const again = await by('w4')
    if (typeof again === 'string') throw new Error(again)
    expect(again.token).toBeGreaterThan(taken.token)
    await ledger.done('r', again.shard, again.token)
    expect(await by('w5')).toBe('all-done')
    const states = await all(ledger.shards('r'))
    expect(states).toMatchObject([{ state: 'done' }, { state: 'done' }])
    expect(states[two.shard]).toMatchObject({ worker: 'w2', result: 'fine' })
  })

  it('are opened with one number only', async () => {
    await ledger.openShards('r', 2)
    await expect(ledger.openShards('r', 3)).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
    await expect(ledger.openShards('r', 0)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    await ledger.startRun({ id: 'q' })
    const none = ledger.lease('q', { worker: 'w', leaseMs: 1 })
    await expect(none).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

describe('bad input', () => {
  it('is refused by name, and nothing is written', async () => {
    const bad: [Promise<unknown>, string][] = [
      [ledger.claim('', lease), 'INVALID_KEY'],
      [ledger.claim('é'.repeat(451), lease), 'INVALID_KEY'],
      [ledger.claim('\ud800', lease), 'INVALID_KEY'],
      [ledger.claim(7 as never, lease), 'INVALID_KEY'],
      [ledger.claim('a', { leaseMs: 0 }), 'INVALID_OPTIONS'],
      [ledger.claim('a', { leaseMs: NaN }), 'INVALID_OPTIONS'],
      [ledger.claim('a', { ...lease, leas: 1 } as never), 'INVALID_OPTIONS'],
      [ledger.claim('a', { ...lease, source: '' }), 'INVALID_OPTIONS'],
      [ledger.record([{ id: 'a', status: 'claimed' as never }]), 'INVALID_VALUE'],
      [ledger.record([{ id: 'a', status: 'done' as never }]), 'INVALID_VALUE'],
      [ledger.record([{ id: 'a', status: 'failed', detail: 'x'.repeat(20_000) }]), 'INVALID_VALUE'],
      [ledger.record([undefined as never]), 'INVALID_VALUE'],
      [ledger.commit({ id: 'a' } as never, { status: 'accepted' }), 'INVALID_VALUE'],
      [ledger.counts({ source: 's', run: 'r' }), 'INVALID_OPTIONS'],
      [all(ledger.bySource('s', { limit: -1 })), 'INVALID_OPTIONS'],
      [ledger.progress('r', -1, 1, 1), 'INVALID_VALUE'],
      [openLedger('memory:', { retention: 1 } as never), 'INVALID_OPTIONS'],
      [openLedger(new MemoryBackend(), { clock }), 'INVALID_OPTIONS'],
      [openLedger(undefined as never), 'INVALID_LOCATION'],
    ]
    for (const [call, code] of bad) await expect(call).rejects.toMatchObject({ code })
    expect(await ledger.counts()).toMatchObject({ total: 0 })
  })

  it('does not take the longest id for too long', async () => {
    const id = '🎩'.repeat(225)
    await ledger.record([{ id, status: 'accepted' }])
    expect((await ledger.get(id))?.id).toBe(id)
  })

  it('tells a closed ledger, one of another format, and one that is not there', async () => {
    await ledger.close()
    await expect(ledger.get('a')).rejects.toMatchObject({ code: 'BACKEND_CLOSED' })
    const engine = new MemoryEngine()
    const backend = new MemoryBackend({}, engine)
    const missing = openLedger('memory:', { create: false })
    await expect(missing).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' })
    const row = Buffer.from('{"format":3}')
    engine.space(settings.name).set('\0ledger', row)
    await expect(openLedger(backend)).rejects.toMatchObject({ code: 'FORMAT_UNSUPPORTED' })
  })
})

describe('a transaction of the caller', () => {
  it('records a line together with all else it writes, or not at all', async () => {
    const backend = new MemoryBackend({ clock })
    const own = await openLedger(backend)
    const line = prepareLine({ id: 'a', status: 'accepted' })
    const failing = backend.run(function* (scope) {
      yield* recordLine(scope, line)
      throw new Error('changed my mind')
    })
    await expect(failing).rejects.toThrow('changed my mind')
    expect(await own.wasProcessed('a')).toBe(false)
    await backend.run(recordLine, line)
    expect(await own.wasProcessed('a')).toBe(true)
  })
})
