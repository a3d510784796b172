/** Merges and expiry: what happens to clusters as time goes by. */

import { afterAll, beforeEach, describe, expect, it } from 'vitest'

import { FEW, missed, type Missed } from '../../test/resolver/missed.ts'
import { engines, type Place, placeOf } from '../../test/resolver/open.ts'
import { lettersOf } from '../../test/texts/near-texts.ts'
import { countsIn, rowsInBackend } from '../../test/resolver/tables.ts'
import { removeTemporaryDirectories } from '../../test/subjects.ts'
import type { ClusterMember, Resolver } from '../index.ts'
import { MatchIndex } from '../match/match-index.ts'
import { TextScheme } from '../match/scheme/text.ts'
import { textNear } from './rows.ts'

const WORDS = 'the quick brown fox jumps over the lazy dog while nobody else is watching it at all'
const NEAR = WORDS.replace('lazy', 'lazier')

afterAll(removeTemporaryDirectories)

async function membersOf(resolver: Resolver, id: string): Promise<ClusterMember[]> {
  const all: ClusterMember[] = []
  for await (const member of resolver.members('g', id)) all.push(member)
  return all
}

describe.each(engines)('two clusters that turn out to be one on %s', (engine) => {
  let place: Place
  let texts: Missed
  beforeEach(async () => {
    place = await placeOf(engine)
    texts = missed()
  })

  async function merged(resolver: Resolver) {
    const older = await resolver.resolve('g', texts.older)
    const younger = await resolver.resolve('g', texts.younger)
    expect([older.status, younger.status]).toEqual(['new', 'new'])
    expect(await resolver.resolve('g', texts.member)).toMatchObject({ id: younger.id })
    expect(await resolver.resolve('g', texts.member)).toMatchObject({ id: younger.id })
    const third = await resolver.resolve('g', texts.third)
    expect(third).toMatchObject({ status: 'match', id: older.id })
    return { older: older.id, younger: younger.id }
  }

  it('are merged, the younger into the older, and old ids stay resolvable', async () => {
    await using resolver = await place.open(FEW)
    const { older, younger } = await merged(resolver)
    // Answers in memory know it at once.
    expect(await resolver.resolve('g', texts.younger)).toEqual({
      id: older,
      status: 'known',
      similarity: 1,
      representative: younger,
    })
    expect(await resolver.resolve('g', texts.member)).toMatchObject({
      id: older,
      status: 'known',
      representative: younger,
    })
    expect(await resolver.aliases('g', older)).toEqual([younger])
    expect(await resolver.representative('g', younger)).toMatchObject({ id: older })
    const all = await membersOf(resolver, older)
    expect(all.map(({ isRepresentative }) => isRepresentative)).toEqual([true, false, false, false])
    expect(all.filter((one) => one.representative === younger)).not.toHaveLength(0)
    expect(await membersOf(resolver, younger)).toEqual(all)
    expect(await resolver.stats('g')).toMatchObject({
      clusters: 1,
      merged: 1,
      members: 2,
      largest: [{ id: older, size: 4 }],
    })
    expect(await place.audit(resolver, 'g')).toEqual([])
  })

  it('are one after a restart, and the younger is found no more', async () => {
    const first = await place.open(FEW)
    const { older } = await merged(first)
    await first.close()
    await using resolver = await place.open()
    expect(await resolver.resolve('g', texts.member)).toMatchObject({ id: older, status: 'known' })
    await resolver.delete('g', texts.member)
    expect((await resolver.lookup('g', texts.member))?.representative).not.toBe(
      (await resolver.resolve('g', texts.younger)).representative,
    )
  })

  it('are forgotten as one, and nothing is left behind', async () => {
    await using resolver = await place.open(FEW)
    const { older } = await merged(resolver)
    expect(await resolver.delete('g', { id: older })).toBe(true)
    expect(await place.audit(resolver, 'g')).toEqual([])
    const counts = countsIn(await rowsInBackend(await place.backend()))
    expect(counts).not.toHaveProperty('resolve.aliases')
    expect(counts).not.toHaveProperty('resolve.resolutions')
    expect(counts).not.toHaveProperty('resolve.members')
    expect(counts).not.toHaveProperty('resolve.evidence')
    expect(counts).not.toHaveProperty('resolve.text.representatives')
    expect(await resolver.stats('g')).toMatchObject({ clusters: 0, merged: 0, members: 0 })
    expect(await resolver.resolve('g', texts.younger)).toMatchObject({ status: 'new' })
  })

  it('can be forgotten by the old id alone', async () => {
    await using resolver = await place.open(FEW)
    const { older, younger } = await merged(resolver)
    expect(await resolver.delete('g', { id: younger })).toBe(true)
    expect(await resolver.aliases('g', older)).toEqual([])
    expect(await resolver.resolve('g', texts.older)).toMatchObject({ id: older, status: 'exact' })
    expect(await place.audit(resolver, 'g')).toEqual([])
  })

  it('are one for a process that was far behind, too', async () => {
    await using behind = await place.open({ ...FEW, cacheMax: 0 })
    await using resolver = await place.open(FEW)
    const older = await resolver.resolve('g', texts.older)
    const younger = await resolver.resolve('g', texts.younger)
    await resolver.resolve('g', 'something else altogether, of which nobody has heard before')
    expect(await behind.lookup('g', texts.member)).toMatchObject({ id: younger.id })
    expect(await resolver.resolve('g', texts.third)).toMatchObject({ id: older.id })
    await resolver.resolve('g', 'and yet another thing to keep, quite unlike all of the others')
    const { text } = resolver.settings
    const options = { serial: true, candidatesMax: 1, bucketMax: 1 }
    const index = new MatchIndex(textNear, new TextScheme(text.slots, text), options)
    const backend = await place.backend()
    expect(await index.trim(backend, 0)).toBe(2)
    await backend.close()
    // Its table still names the younger one, whose row says that it was merged.
    expect((await behind.lookup('g', texts.member))?.id).not.toBe(younger.id)
    expect((await behind.resolve('g', texts.member)).id).not.toBe(younger.id)
  })

  it('live and end together', async () => {
    await using resolver = await place.open({ ...FEW, ttlMs: 1000, cacheMax: 0 })
    const { older } = await merged(resolver)
    for (let use = 0; use < 5; use++) {
      place.clock.time += 900
      expect(await resolver.resolve('g', texts.member)).toMatchObject({ id: older })
    }
    expect(await resolver.collect()).toEqual({ clusters: 0 })
    expect(await resolver.resolve('g', texts.younger)).toMatchObject({ status: 'known', id: older })
    place.clock.time += 1000
    expect(await resolver.lookup('g', texts.younger)).toBeUndefined()
    expect(await resolver.collect()).toEqual({ clusters: 1 })
    expect(await place.audit(resolver, 'g')).toEqual([])
    expect(await resolver.stats('g')).toMatchObject({ clusters: 0, merged: 0, members: 0 })
  })
})

describe.each(engines)('a cluster with a time to live on %s', (engine) => {
  let place: Place
  beforeEach(async () => {
    place = await placeOf(engine)
  })

  const options = { threshold: 0.7, ttlMs: 1000, renewMs: 100, cacheMax: 0 } as const
  const expiresAt = async (resolver: Resolver, id: string) =>
    (await resolver.representative('g', id))?.expiresAt

  it('is renewed by use, at most once every renewMs', async () => {
    await using resolver = await place.open(options)
    const { id } = await resolver.resolve('g', WORDS)
    expect(await expiresAt(resolver, id)).toBe(1_001_000)
    place.clock.time += 99
    await resolver.resolve('g', NEAR)
    expect(await expiresAt(resolver, id)).toBe(1_001_000)
    place.clock.time += 1
    await resolver.resolve('g', NEAR)
    expect(await expiresAt(resolver, id)).toBe(1_001_100)
    await resolver.lookup('g', WORDS)
    place.clock.time += 999
    expect(await resolver.lookup('g', WORDS)).toMatchObject({ status: 'exact' })
    expect(await resolver.resolve('g', WORDS)).toMatchObject({ id, status: 'exact' })
    expect(await expiresAt(resolver, id)).toBe(1_002_099)
    expect(await place.audit(resolver, 'g')).toEqual([])
  })

  it('is matched no more when it has expired, and its inputs are resolved again', async () => {
    await using resolver = await place.open(options)
    const first = await resolver.resolve('g', WORDS)
    await resolver.resolve('g', NEAR)
    place.clock.time += 1000
    expect(await resolver.lookup('g', WORDS)).toBeUndefined()
    expect(await resolver.lookup('g', `${WORDS}!`)).toBeUndefined()
    expect(await membersOf(resolver, first.id)).toEqual([])
    expect(await resolver.representative('g', first.id)).toBeUndefined()
    const near = await resolver.resolve('g', NEAR)
    expect(near.status).toBe('new')
    expect(await resolver.resolve('g', WORDS)).toMatchObject({ id: near.id, status: 'match' })
    expect(await place.audit(resolver, 'g')).toEqual([])
    expect(await resolver.collect()).toEqual({ clusters: 1 })
    expect(await resolver.resolve('g', WORDS)).toMatchObject({ id: near.id, status: 'known' })
    expect(await place.audit(resolver, 'g')).toEqual([])
    expect(await resolver.stats('g')).toMatchObject({ clusters: 1, members: 1 })
  })

  it('is taken away whole by collect', async () => {
    await using resolver = await place.open(options)
    for (let count = 0; count < 40; count++)
      await resolver.resolve('g', `${WORDS} ${lettersOf(count)}`)
    place.clock.time += 500
    await resolver.resolve('g', 'something else that lives longer than all of that')
    place.clock.time += 500
    expect(await resolver.collect()).toEqual({ clusters: 1 })
    expect(await resolver.collect()).toEqual({ clusters: 0 })
    expect(await resolver.stats('g')).toMatchObject({ clusters: 1, members: 0 })
    expect(await place.audit(resolver, 'g')).toEqual([])
    place.clock.time += 500
    await resolver.collect()
    const counts = countsIn(await rowsInBackend(await place.backend()))
    expect(Object.keys(counts).toSorted()).toEqual([
      'resolve.groups',
      'resolve.settings',
      'resolve.tallies',
      'resolve.text.dead',
      'resolve.text.heads',
      'resolve.text.journal',
    ])
  })

  it('does not end while answers from memory are all that is asked for', async () => {
    await using resolver = await place.open({ ttlMs: 500, cacheMs: 10_000 })
    const { id } = await resolver.resolve('g', WORDS)
    for (let use = 0; use < 100; use++) {
      place.clock.time += 30
      expect(await resolver.resolve('g', WORDS)).toMatchObject({ id, status: 'exact' })
    }
    place.clock.time += 500
    expect(await resolver.resolve('g', WORDS)).toMatchObject({ status: 'new' })
  })
})

it('ends by collect what a crash in the middle of forgetting has left', async () => {
  const place = await placeOf('memory')
  const backend = await place.backend()
  const { openResolver } = await import('../index.ts')
  const dying = await openResolver(backend, { threshold: 0.7, guards: false })
  const { id } = await dying.resolve('g', WORDS)
  for (let count = 0; count < 60; count++) await dying.resolve('g', `${WORDS} ${count}`)
  const run = backend.run.bind(backend)
  let left = 2
  backend.run = async (body, ...args) => {
    if (left-- === 0) throw new Error('died')
    return run(body, ...args)
  }
  await expect(dying.delete('g', { id })).rejects.toThrow('died')
  await using resolver = await place.open()
  expect(await resolver.lookup('g', WORDS)).toBeUndefined()
  expect(await place.audit(resolver, 'g')).toEqual([])
  expect((await resolver.stats('g')).members).toBeGreaterThan(0)
  await resolver.collect()
  expect(await resolver.stats('g')).toMatchObject({ clusters: 0, members: 0 })
  expect(countsIn(await rowsInBackend(backend))).not.toHaveProperty('resolve.leftovers')
  expect(await place.audit(resolver, 'g')).toEqual([])
})
