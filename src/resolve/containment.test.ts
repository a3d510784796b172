/** Containment in the resolver: what contains a text, where, and what becomes of the rows. */

import { afterAll, beforeEach, describe, expect, it } from 'vitest'

import { FEW, missed } from '../../test/resolver/missed.ts'
import { engines, type Place, placeOf } from '../../test/resolver/open.ts'
import { countsIn, rowsInBackend } from '../../test/resolver/tables.ts'
import { removeTemporaryDirectories } from '../../test/subjects.ts'
import { lettersOf, textOf } from '../../test/texts/near-texts.ts'
import { cell, type Scope, type Space } from '../backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../backends/memory/backend.ts'
import { SimulatedWorld } from '../backends/simulated/backend.ts'
import {
  archiveLocation,
  openResolver,
  type Resolution,
  type ResolverOptions,
  restoreLocation,
  verifyLocation,
} from '../index.ts'
import { textContainment } from './rows.ts'

const OPTIONS: ResolverOptions = { containment: { min: 0.7 } }
const QUOTED =
  'Ünïcödé: “we met – at last – at the Café Zürich, near the old harbour, and talked all night long about 東京都港区六本木一丁目九番十号 🎉”'
const REPLY = `On Monday she wrote:\n> ${QUOTED.toUpperCase()}\nand I replied. ${textOf(5, 80)}`
const OTHER = textOf(6, 200)

afterAll(removeTemporaryDirectories)

const cut = (text: string, spans: readonly { start: number; end: number }[] = []) =>
  spans.map(({ start, end }) => Buffer.from(text).subarray(start, end).toString())

const idsIn = ({ containment }: Resolution) => containment?.map(({ id }) => id)

async function expectSound(place: Place): Promise<void> {
  const backend = await place.backend()
  const reports = await verifyLocation(backend)
  await backend.close()
  expect(reports.flatMap(({ problems }) => problems)).toEqual([])
}

/** Rows of containment, by space. */
async function rowsOf(place: Place): Promise<Record<string, number>> {
  const backend = await place.backend()
  const counts = countsIn(await rowsInBackend(backend))
  await backend.close()
  return Object.fromEntries(
    Object.entries(counts).filter(([name]) => name.startsWith('resolve.containment')),
  )
}

describe.each(engines)('a resolver that looks for containment on %s', (engine) => {
  let place: Place
  beforeEach(async () => {
    place = await placeOf(engine)
  })

  it('lists what contains a text and what a text contains, with spans of both originals', async () => {
    await using resolver = await place.open(OPTIONS)
    const quoted = await resolver.resolve('g', QUOTED)
    expect(quoted).toMatchObject({ status: 'new', containment: [] })
    expect(await resolver.resolve('g', OTHER)).toMatchObject({ status: 'new', containment: [] })
    const reply = await resolver.resolve('g', REPLY)
    expect(reply).toMatchObject({ status: 'new', similarity: 1 })
    expect(reply.id).not.toBe(quoted.id)
    const [contained, ...more] = reply.containment ?? []
    expect(more).toEqual([])
    expect(contained).toMatchObject({ id: quoted.id, shareOfOther: 1 })
    expect(contained?.share).toBeLessThan(0.5)
    expect(cut(REPLY, contained?.spans)).toEqual([QUOTED.toUpperCase().slice(0, -1)])
    expect(cut(QUOTED, contained?.spansOfOther)).toEqual([QUOTED.slice(0, -1)])
    await resolver.delete('g', QUOTED)
    const again = await resolver.resolve('g', QUOTED)
    expect(again).toMatchObject({ id: quoted.id, containment: [{ id: reply.id, share: 1 }] })
  })

  it('lists it for what is new or matched just now, without the thing it matched', async () => {
    await using resolver = await place.open(OPTIONS)
    const quoted = await resolver.resolve('g', QUOTED)
    const reply = await resolver.resolve('g', REPLY)
    const NEAR = `${REPLY} again`
    const asked = await resolver.lookup('g', NEAR)
    expect(asked).toMatchObject({ status: 'match', id: reply.id })
    expect(idsIn(asked!)).toEqual([quoted.id])
    const matched = await resolver.resolve('g', NEAR)
    expect(matched).toEqual(asked)
    for (const text of [NEAR, REPLY]) {
      expect(await resolver.resolve('g', text)).not.toHaveProperty('containment')
      expect(await resolver.lookup('g', text)).not.toHaveProperty('containment')
    }
  })

  it('never looks into another group', async () => {
    await using resolver = await place.open(OPTIONS)
    await resolver.resolve('one', QUOTED)
    expect((await resolver.resolve('two', REPLY)).containment).toEqual([])
  })

  it('names at most five', async () => {
    await using resolver = await place.open({ ...OPTIONS, threshold: 1, guards: false })
    for (let seed = 1; seed <= 8; seed++) {
      await resolver.resolve('g', `${QUOTED} ${textOf(seed + 20, 40)}`)
    }
    expect((await resolver.resolve('g', QUOTED)).containment).toHaveLength(5)
  })

  it('finds after a restart, and takes min from what was recorded', async () => {
    const first = await place.open(OPTIONS)
    const { id } = await first.resolve('g', QUOTED)
    expect(first.settings.containment).toMatchObject({ min: 0.7 })
    await first.close()
    await using resolver = await place.open({ containment: {} })
    expect(resolver.settings.containment).toMatchObject({ min: 0.7 })
    expect(idsIn(await resolver.resolve('g', REPLY))).toEqual([id])
    await expect(place.open({ containment: { min: 0.5 } })).rejects.toThrow(
      'containment.min is 0.7 there, and 0.5 was asked for',
    )
  })

  it('finds nothing of what was deleted, and leaves no row of it', async () => {
    await using resolver = await place.open(OPTIONS)
    const { id } = await resolver.resolve('g', QUOTED)
    await resolver.delete('g', { id })
    expect(await rowsOf(place)).not.toHaveProperty('resolve.containment.representatives')
    expect((await resolver.resolve('g', REPLY)).containment).toEqual([])
    await expectSound(place)
  })

  it('finds nothing of what has expired, and takes its rows away with collect', async () => {
    await using resolver = await place.open({ ...OPTIONS, ttlMs: 1000, renewMs: 100 })
    await resolver.resolve('g', QUOTED)
    place.clock.time += 1001
    const reply = await resolver.resolve('g', REPLY)
    expect(reply.containment).toEqual([])
    await expectSound(place)
    expect(await resolver.collect()).toEqual({ clusters: 1 })
    expect(await rowsOf(place)).toMatchObject({ 'resolve.containment.representatives': 1 })
    await expectSound(place)
    expect(idsIn(await resolver.resolve('g', QUOTED))).toEqual([reply.id])
  })

  it('does not find a representative that was merged, but the one it was merged into', async () => {
    await using resolver = await place.open({ ...OPTIONS, ...FEW })
    const texts = missed(40)
    const older = await resolver.resolve('g', texts.older)
    const younger = await resolver.resolve('g', texts.younger)
    expect(younger.containment).toMatchObject([{ id: older.id }])
    const third = await resolver.resolve('g', texts.third)
    expect(third).toMatchObject({ status: 'match', id: older.id, containment: [] })
    expect(await resolver.aliases('g', older.id)).toEqual([younger.id])
    expect(await rowsOf(place)).toMatchObject({ 'resolve.containment.representatives': 1 })
    await expectSound(place)
    const found = await resolver.resolve('g', `${texts.younger} ${textOf(900, 300)}`)
    expect(found.status).toBe('new')
    expect(idsIn(found)).toEqual([older.id])
    expect(await place.audit(resolver, 'g')).toEqual([])
    await resolver.delete('g', { id: older.id })
    await expectSound(place)
  })

  it('is the same after an archive was restored', async () => {
    const resolver = await place.open({ ...OPTIONS, vector: { dimensions: 2, threshold: 0.9 } })
    const { id } = await resolver.resolve('g', QUOTED)
    await resolver.resolve('g', OTHER)
    await resolver.resolve('g', [1, 2])
    await resolver.close()
    const memory = new MemoryEngine()
    const from = await place.backend()
    await restoreLocation(new MemoryBackend({}, memory), archiveLocation(from))
    await from.close()
    const [report] = await verifyLocation(new MemoryBackend({}, memory))
    expect(report).toMatchObject({ kind: 'resolver', problems: [] })
    await using copy = await openResolver(new MemoryBackend({}, memory))
    expect(idsIn(await copy.resolve('g', REPLY))).toEqual([id])
  })

  it('does not fit an engine that others share over a network, and an archive says so', async () => {
    const resolver = await place.open(OPTIONS)
    await resolver.resolve('g', QUOTED)
    await resolver.close()
    const world = new SimulatedWorld(5)
    world.limits = { keyBytesMax: 2048, valueBytesMax: 512 * 1024, cellsMax: 1000 }
    const from = await place.backend()
    await expect(restoreLocation(world.open('one'), archiveLocation(from))).rejects.toThrow(
      'containment needs an embedded engine',
    )
    await from.close()
  })

  it.each([
    ['a row of the journal', 'journal', 'index-wrong'],
    ['a representative', 'representatives', 'reference-broken'],
  ] as const)('verifies %s that is gone', async (_, name, kind) => {
    await using resolver = await place.open(OPTIONS)
    await resolver.resolve('g', QUOTED)
    await expectSound(place)
    const backend = await place.backend()
    const space: Space<unknown> = textContainment[name]
    for await (const { key } of backend.scan(space)) {
      await backend.run(function* (scope: Scope) {
        scope.remove(cell(space, key))
      })
    }
    const [report] = await verifyLocation(backend)
    await backend.close()
    expect(report?.problems.map((problem) => problem.kind)).toContain(kind)
  })

  it.each(['a', '漢', '🎉', 'e\u0301', 'only a few words'])('resolves %j', async (text) => {
    await using resolver = await place.open(OPTIONS)
    expect((await resolver.resolve('g', text)).containment).toEqual([])
    expect(await rowsOf(place)).toEqual({})
    await expectSound(place)
  })
})

describe('containment of a resolver', () => {
  it('is not looked for unless asked for', async () => {
    await using resolver = await openResolver('memory:')
    await resolver.resolve('g', QUOTED)
    expect(await resolver.resolve('g', REPLY)).not.toHaveProperty('containment')
    expect(resolver.settings).not.toHaveProperty('containment')
  })

  it('has a min of 0.8 unless said', async () => {
    await using resolver = await openResolver('memory:', { containment: {} })
    expect(resolver.settings.containment).toMatchObject({ min: 0.8 })
  })

  it('is refused by name in a resolver that was written without it', async () => {
    const engine = new MemoryEngine()
    await (await openResolver(new MemoryBackend({}, engine))).close()
    await expect(openResolver(new MemoryBackend({}, engine), OPTIONS)).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
      message: expect.stringContaining('containment is not set there'),
    })
  })

  it.each(['hashes', 'sketch'] as const)('is refused with the evidence %s', async (evidence) => {
    await expect(openResolver('memory:', { ...OPTIONS, evidence })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: `containment: compares texts, and evidence is '${evidence}'. Give evidence: 'text'.`,
    })
  })

  it.each([0, 1.1, Number.NaN])('is refused with a min of %d', async (min) => {
    await expect(openResolver('memory:', { containment: { min } })).rejects.toThrow(
      'containment.min: must be a number greater than 0 and at most 1',
    )
  })

  it('is refused on an engine that others share over a network, before anything is kept', async () => {
    const world = new SimulatedWorld(5)
    await expect(openResolver(world.open('one'), OPTIONS)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('containment needs an embedded engine'),
    })
    const resolver = await openResolver(world.open('two'))
    expect(resolver.settings).not.toHaveProperty('containment')
  })

  it('is seen of what another process has resolved and deleted', async () => {
    const engine = new MemoryEngine()
    const open = () => openResolver(new MemoryBackend({}, engine), OPTIONS)
    await using one = await open()
    await using two = await open()
    const { id } = await one.resolve('g', QUOTED)
    expect(idsIn(await two.resolve('g', REPLY))).toEqual([id])
    await two.delete('g', QUOTED)
    await two.delete('g', REPLY)
    expect((await one.resolve('g', REPLY)).containment).toEqual([])
  })

  it('is explained by the passages that two texts share', async () => {
    await using resolver = await openResolver('memory:')
    const explained = await resolver.explain('g', QUOTED, REPLY)
    if (!('passages' in explained)) throw new Error('texts are compared')
    expect(cut(QUOTED, explained.passages.a)).toEqual([QUOTED.slice(0, -1)])
    expect(cut(REPLY, explained.passages.b)).toEqual([QUOTED.toUpperCase().slice(0, -1)])
  })

  it('is found in texts that are kept in several parts', async () => {
    await using resolver = await openResolver('memory:', OPTIONS)
    const { id } = await resolver.resolve('g', `${'x'.repeat(4 * 1024 * 1024)} ${QUOTED}`)
    expect((await resolver.resolve('g', QUOTED)).containment).toMatchObject([{ id, share: 1 }])
  })

  it('never changes ids', async () => {
    await using plain = await openResolver('memory:')
    await using looking = await openResolver('memory:', OPTIONS)
    const texts = [QUOTED, REPLY, OTHER, QUOTED, lettersOf(3), `${REPLY} x`, OTHER]
    for (const text of texts) {
      const { containment: _containment, ...found } = await looking.resolve('g', text)
      expect(found).toEqual(await plain.resolve('g', text))
    }
  })
})
