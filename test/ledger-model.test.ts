/** The same operations on a ledger and on a plain Map: both must agree, and all rows with each other. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import type { Backend } from '../src/backends/contract.ts'
import { openLmdb } from '../src/backends/lmdb/backend.ts'
import { MemoryBackend } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { type Claim, type Ledger, openLedger, PrestigeError } from '../src/index.ts'
import { ledgerSpaces } from '../src/ledger/index.ts'
import { checkRows, rowsOfBackend } from './ledger/invariants.ts'
import { Model } from './ledger/model.ts'

const IDS = ['a', 'док-1', '文書', '🎩'.repeat(200), 'e\u0301', 'é']
const SOURCES = ['web', 'книги']
const RUNS = ['r1', 'r2', 'r3', 'r4']
const MISSING = 'reconcile: the target does not have it'

interface Fields {
  readonly id: string
  readonly source: string | undefined
  readonly run: string | undefined
  readonly named: string
  readonly status: 'accepted' | 'rejected' | 'duplicate' | 'failed'
  readonly slot: number
  readonly ms: number
}

const fields: { [F in keyof Fields]: fc.Arbitrary<Fields[F]> } = {
  id: fc.constantFrom(...IDS),
  source: fc.constantFrom(undefined, ...SOURCES),
  run: fc.constantFrom(undefined, ...RUNS),
  named: fc.constantFrom(...RUNS),
  status: fc.constantFrom('accepted', 'rejected', 'duplicate', 'failed'),
  slot: fc.nat({ max: 7 }),
  ms: fc.integer({ min: 1, max: 60 }),
}

const WEIGHTS = {
  claim: 8,
  commit: 6,
  abort: 2,
  renew: 2,
  record: 8,
  supersede: 2,
  forget: 2,
  forgetRun: 3,
  finishRun: 1,
  wait: 4,
  prune: 1,
  reconcile: 1,
}
type Operation = Fields & { readonly op: keyof typeof WEIGHTS }

const operation: fc.Arbitrary<Operation> = fc.oneof(
  ...Object.entries(WEIGHTS).map(([op, weight]) => ({
    weight,
    arbitrary: fc.record({ op: fc.constant(op as keyof typeof WEIGHTS), ...fields }),
  })),
)

class Pair {
  readonly model = new Model()
  readonly claims: Claim[] = []
  readonly ledger: Ledger

  constructor(ledger: Ledger) {
    this.ledger = ledger
  }

  /** What the ledger answered, and what the Map says it must. */
  async step(what: Operation): Promise<[unknown, unknown]> {
    const { model, ledger } = this
    const { id, source, run, status } = what
    // oxlint-disable-next-line switch-exhaustiveness-check -- the rest is tended to
    switch (what.op) {
      case 'claim': {
        const how = { leaseMs: 50, source, run }
        const claimed = await codeOf(ledger.claim(id, how))
        if (typeof claimed === 'string') return [claimed, this.#refusal(run)]
        if (claimed.ok) this.claims.push(claimed)
        return [claimed.ok ? claimed.token : claimed.reason, model.claim(id, how)]
      }
      case 'record': {
        const done = await codeOf(ledger.record([{ id, source, run, status }]))
        if (typeof done === 'string') return [done, this.#refusal(run)]
        return [model.record(id, { source, run, status }), this.#refusal(run)]
      }
      case 'supersede': {
        const done = await codeOf(ledger.supersede(id, 'other', { run }))
        if (typeof done === 'string') return [done, this.#refusal(run)]
        return [done !== undefined, model.supersede(id, 'other', run)]
      }
      case 'commit':
      case 'abort':
      case 'renew':
        return this.#held(what)
      default:
        return this.#tend(what)
    }
  }

  /** What is done to the ledger as a whole. */
  async #tend({ op, id, named, ms }: Operation): Promise<[unknown, unknown]> {
    const { model, ledger } = this
    // oxlint-disable-next-line switch-exhaustiveness-check -- the rest is waiting
    switch (op) {
      case 'forgetRun': {
        const done = await codeOf(ledger.forgetRun(named))
        return [done, model.runs.has(named) ? model.forgetRun(named) : 'RUN_NOT_FOUND']
      }
      case 'finishRun': {
        const done = await codeOf(ledger.finishRun(named))
        if (model.runs.get(named)?.status === 'finished') return [typeof done, 'object']
        if (typeof done === 'string') return [done, this.#refusal(named)]
        model.endRun(named, 'finished')
        return [done.endedAt, model.now]
      }
      case 'prune': {
        const olderThan = model.now - ms
        return [await ledger.prune({ olderThan }), model.prune(olderThan)]
      }
      case 'reconcile': {
        const has = (one: string) => one !== id
        const { missing } = await ledger.reconcile(async (ids) => ids.map(has))
        return [missing, model.reconcile(has, MISSING)]
      }
      case 'forget':
        return [await ledger.forget(id), model.documents.delete(id)]
      default:
        return [(model.now += ms), model.now]
    }
  }

  #refusal(run: string | undefined): string | undefined {
    if (run === undefined || this.model.runs.get(run)?.status === 'running') return undefined
    return this.model.runs.has(run) ? 'RUN_ENDED' : 'RUN_NOT_FOUND'
  }

  async #held({ op, slot, status }: Operation): Promise<[unknown, unknown]> {
    const claim = this.claims.at(-1 - slot)
    if (!claim) return [0, 0]
    const { id, token } = claim
    const { model, ledger } = this
    if (op === 'renew') {
      return [told(await codeOf(ledger.renew(claim, 50))), model.renew(id, token, 50)]
    }
    if (op === 'abort') {
      const done = await codeOf(ledger.abort(claim, { reason: 'no' }))
      return [told(done), model.commit(id, token, 'failed', 'no')]
    }
    const done = await codeOf(ledger.commit(claim, { status }))
    return [told(done), model.commit(id, token, status)]
  }

  async check(backend: Backend): Promise<void> {
    const { model, ledger } = this
    for (const one of IDS) {
      const top = model.top(one)
      const { status = 'failed', ...rest } = top ?? {}
      const isDone = status !== 'failed' && status !== 'claimed'
      expect(await ledger.get(one)).toEqual(top && { id: one, status, ...defined(rest) })
      expect(await ledger.wasProcessed(one)).toBe(isDone)
    }
    checkRows(await rowsOfBackend(backend, { sources: SOURCES, runs: RUNS }))
    for (const one of SOURCES) {
      const ids = IDS.filter((id) => model.top(id)?.source === one)
      const listed: string[] = []
      for await (const line of ledger.bySource(one)) listed.push(line.id)
      expect(listed.toSorted()).toEqual(ids.toSorted())
      const rest: string[] = []
      const [startAfter] = listed
      if (startAfter === undefined) continue
      for await (const line of ledger.bySource(one, { startAfter, limit: 2 })) rest.push(line.id)
      expect(rest).toEqual(listed.slice(1, 3))
    }
    for (const one of RUNS) await this.#checkRun(one)
  }

  async #checkRun(run: string): Promise<void> {
    const expected: string[] = []
    for (const [id, chain] of this.model.documents) {
      const at = chain.findIndex((version) => version.run === run)
      if (at < 0) continue
      expected.push(`${id} ${chain[at]!.status} ${at < chain.length - 1}`)
    }
    const listed: string[] = []
    for await (const { id, status, isReplaced = false } of this.ledger.byRun(run)) {
      listed.push(`${id} ${status} ${isReplaced}`)
    }
    expect(listed.toSorted()).toEqual(expected.toSorted())
    expect((await this.ledger.counts({ run })).total).toBe(expected.length)
  }
}

/** The result, or the code of the error. */
async function codeOf<T>(done: Promise<T>): Promise<T | string> {
  try {
    return await done
  } catch (error) {
    if (error instanceof PrestigeError) return error.code
    throw error
  }
}

const told = (done: unknown) =>
  done === 'CLAIM_LOST' ? 'lost' : typeof done === 'string' ? done : 'ok'

function defined(of: object): object {
  return Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined))
}

async function agree(open: (clock: () => number) => Promise<Backend>, what: readonly Operation[]) {
  let pair: Pair | undefined
  const backend = await open(() => pair?.model.now ?? 1_000_000)
  pair = new Pair(await openLedger(backend))
  for (const id of RUNS) {
    await pair.ledger.startRun({ id })
    pair.model.runs.set(id, { status: 'running', endedAt: 0 })
  }
  for (const one of what) {
    const [found, expected] = await pair.step(one)
    expect(found, JSON.stringify(one)).toEqual(expected)
    await pair.check(backend)
  }
  await pair.ledger.close()
}

const operations = fc.array(operation, { maxLength: 40, size: 'max' })

describe('a ledger agrees with a plain Map', () => {
  it('in memory', async () => {
    await fc.assert(
      fc.asyncProperty(operations, (what) =>
        agree(async (clock) => new MemoryBackend({ clock }), what),
      ),
      { numRuns: 60 },
    )
  })

  it('on an engine that validates', async () => {
    await fc.assert(
      fc.asyncProperty(operations, fc.nat(), (what, seed) =>
        agree(async (clock) => new SimulatedWorld(seed).open('w', { clock }), what),
      ),
      { numRuns: 8 },
    )
  })

  it('in a directory', async () => {
    await fc.assert(
      fc.asyncProperty(operations, async (what) => {
        const directory = await mkdtemp(join(tmpdir(), 'prestige-ledger-'))
        const open = (clock: () => number) =>
          openLmdb(directory, { spaces: ledgerSpaces, clock, durability: 'os' })
        try {
          await agree(open, what)
        } finally {
          await rm(directory, { recursive: true })
        }
      }),
      { numRuns: 15 },
    )
  })
})
