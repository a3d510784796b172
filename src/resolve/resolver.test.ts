import { afterAll, beforeEach, describe, expect, it } from 'vitest'

import { engines, type Place, placeOf } from '../../test/resolver/open.ts'
import { countsIn, rowsInBackend } from '../../test/resolver/tables.ts'
import { removeTemporaryDirectories } from '../../test/subjects.ts'
import type { ClusterMember, Resolver } from '../index.ts'

const WORDS = 'the quick brown fox jumps over the lazy dog while nobody else is watching it at all'
const NEAR = WORDS.replace('lazy', 'lazier')
const NEARER = `${WORDS}!`
const OTHER = 'colourless green ideas sleep furiously in the long winter nights of the far north'

afterAll(removeTemporaryDirectories)

async function membersOf(resolver: Resolver, id: string): Promise<ClusterMember[]> {
  const all: ClusterMember[] = []
  for await (const member of resolver.members('g', id)) all.push(member)
  return all
}

describe.each(engines)('a resolver on %s', (engine) => {
  let place: Place
  beforeEach(async () => {
    place = await placeOf(engine)
  })

  it('tells new, exact, match and known apart', async () => {
    await using resolver = await place.open({ cacheMax: 0, threshold: 0.7 })
    const first = await resolver.resolve('g', WORDS)
    expect(first).toEqual({
      id: first.id,
      status: 'new',
      similarity: 1,
      representative: first.id,
    })
    expect(first.id).toMatch(/^[\w-]{22}$/)
    expect(await resolver.resolve('g', WORDS)).toEqual({ ...first, status: 'exact' })
    const near = await resolver.resolve('g', NEAR)
    expect(near).toMatchObject({ id: first.id, status: 'match', representative: first.id })
    expect(near.similarity).toBeGreaterThan(0.7)
    expect(near.similarity).toBeLessThan(1)
    expect(await resolver.resolve('g', NEAR)).toEqual({ ...near, status: 'known' })
    expect(await resolver.resolve('g', OTHER)).toMatchObject({ status: 'new' })
    expect(await place.audit(resolver, 'g')).toEqual([])
  })

  it('answers the same from memory, and after it was opened again', async () => {
    const resolver = await place.open({ threshold: 0.7 })
    const { id } = await resolver.resolve('g', WORDS)
    const near = await resolver.resolve('g', NEAR)
    expect(await resolver.resolve('g', NEAR)).toEqual({ ...near, status: 'known' })
    expect(await resolver.resolve('g', WORDS)).toMatchObject({ id, status: 'exact' })
    await resolver.close()
    await using again = await place.open()
    expect(await again.resolve('g', NEAR)).toEqual({ ...near, status: 'known' })
    expect(await again.resolve('g', NEARER)).toMatchObject({ id, status: 'match' })
  })

  it('looks up without a trace', async () => {
    await using resolver = await place.open({ cacheMax: 0, threshold: 0.7 })
    const before = countsIn(await rowsInBackend(await place.backend()))
    expect(await resolver.lookup('g', WORDS)).toBeUndefined()
    expect(countsIn(await rowsInBackend(await place.backend()))).toEqual(before)
    const { id } = await resolver.resolve('g', WORDS)
    const counts = countsIn(await rowsInBackend(await place.backend()))
    const looked = await resolver.lookup('g', NEAR)
    expect(looked).toMatchObject({ id, status: 'match' })
    expect(await resolver.lookup('g', NEAR)).toEqual(looked)
    expect(await resolver.lookup('g', WORDS)).toMatchObject({ id, status: 'exact' })
    expect(countsIn(await rowsInBackend(await place.backend()))).toEqual(counts)
    expect(await resolver.resolve('g', NEAR)).toEqual(looked)
    expect(await resolver.lookup('g', NEAR)).toEqual({ ...looked, status: 'known' })
  })

  it('lists the members of a cluster, the representative first', async () => {
    await using resolver = await place.open({ threshold: 0.7 })
    const { id } = await resolver.resolve('g', WORDS)
    place.clock.time += 5
    const near = await resolver.resolve('g', NEAR)
    await resolver.resolve('g', NEARER)
    await resolver.resolve('g', OTHER)
    const [first, ...others] = await membersOf(resolver, id)
    expect(first).toMatchObject({ id, isRepresentative: true, similarity: 1, at: 1_000_000 })
    expect(others).toHaveLength(2)
    expect(others).toContainEqual({
      id: expect.any(String),
      isRepresentative: false,
      similarity: near.similarity,
      at: 1_000_005,
      representative: id,
    })
    expect(await membersOf(resolver, others[0]!.id)).toEqual([])
    expect(await resolver.representative('g', id)).toEqual({
      id,
      bornAt: 1_000_000,
      text: WORDS,
    })
    expect(await resolver.representative('g', others[0]!.id)).toBeUndefined()
  })

  it('forgets a member, and nothing but that', async () => {
    await using resolver = await place.open({ threshold: 0.7 })
    const { id } = await resolver.resolve('g', WORDS)
    await resolver.resolve('g', NEAR)
    await resolver.resolve('g', NEARER)
    expect(await resolver.delete('g', NEAR)).toBe(true)
    expect(await resolver.delete('g', NEAR)).toBe(false)
    expect(await membersOf(resolver, id)).toHaveLength(2)
    expect(await resolver.resolve('g', NEAR)).toMatchObject({ id, status: 'match' })
    expect(await place.audit(resolver, 'g')).toEqual([])
  })

  it.each(['text', 'id'] as const)(
    'forgets a representative with its cluster by %s',
    async (by) => {
      await using resolver = await place.open({ threshold: 0.7, guards: false })
      const { id } = await resolver.resolve('g', WORDS)
      await resolver.resolve('g', OTHER)
      for (let count = 0; count < 60; count++) await resolver.resolve('g', `${WORDS} ${count}`)
      expect(await membersOf(resolver, id)).toHaveLength(61)
      expect(await resolver.delete('g', by === 'id' ? { id } : WORDS)).toBe(true)
      expect(await membersOf(resolver, id)).toEqual([])
      expect(await resolver.stats('g')).toMatchObject({ clusters: 1, members: 0, merged: 0 })
      const again = await resolver.resolve('g', `${WORDS} 7`)
      expect(again).toMatchObject({ status: 'new' })
      expect(await resolver.resolve('g', WORDS)).toMatchObject({ id: again.id, status: 'match' })
      expect(await place.audit(resolver, 'g')).toEqual([])
    },
  )

  it('forgets a member by id, and says when there is nothing to forget', async () => {
    await using resolver = await place.open({ threshold: 0.7 })
    const { id } = await resolver.resolve('g', WORDS)
    await resolver.resolve('g', NEAR)
    const [, member] = await membersOf(resolver, id)
    expect(await resolver.delete('g', { id: member!.id })).toBe(true)
    expect(await resolver.delete('g', { id: member!.id })).toBe(false)
    expect(await resolver.delete('g', OTHER)).toBe(false)
    expect(await membersOf(resolver, id)).toHaveLength(1)
  })

  it('leaves nothing behind when all is forgotten', async () => {
    await using resolver = await place.open({ threshold: 0.7, ttlMs: 1000 })
    for (const text of [WORDS, NEAR, NEARER, OTHER, ' ', 'x']) await resolver.resolve('g', text)
    for (const text of [NEARER, WORDS, OTHER, ' ', 'x']) await resolver.delete('g', text)
    expect(await place.audit(resolver, 'g')).toEqual([])
    const counts = countsIn(await rowsInBackend(await place.backend()))
    expect(Object.keys(counts).toSorted()).toEqual([
      'resolve.groups',
      'resolve.settings',
      'resolve.tallies',
      'resolve.text.dead',
      'resolve.text.heads',
      'resolve.text.journal',
    ])
    expect(await resolver.stats('g')).toMatchObject({ clusters: 0, members: 0, largest: [] })
  })

  it('keeps groups apart, whatever was asked before', async () => {
    await using resolver = await place.open({ threshold: 0.7 })
    const first = await resolver.resolve('a', WORDS)
    await resolver.resolve('a', NEAR)
    expect(await resolver.lookup('b', WORDS)).toBeUndefined()
    expect(await resolver.resolve('b', NEAR)).toMatchObject({ status: 'new' })
    const other = await resolver.resolve('b', WORDS)
    expect(other.status).toBe('match')
    expect(other.id).not.toBe(first.id)
    expect(await resolver.resolve('a', WORDS)).toMatchObject({ id: first.id, status: 'exact' })
    await resolver.delete('b', { id: other.id })
    expect(await resolver.resolve('a', NEAR)).toMatchObject({ id: first.id, status: 'known' })
    expect(await resolver.lookup('b', WORDS)).toBeUndefined()
    const names: string[] = []
    for await (const { kind, group } of resolver.groups()) names.push(`${kind}:${group}`)
    expect(names.toSorted()).toEqual(['text:a', 'text:b'])
    expect(await place.audit(resolver, 'a', 'b')).toEqual([])
  })

  it('counts exactly, and names the largest clusters', async () => {
    await using resolver = await place.open({ threshold: 0.7 })
    const small = await resolver.resolve('g', OTHER)
    const large = await resolver.resolve('g', WORDS)
    await resolver.resolve('g', `${OTHER}!`)
    for (const text of [NEAR, NEARER, NEARER]) await resolver.resolve('g', text)
    await resolver.resolve('h', WORDS)
    const stats = await resolver.stats('g')
    expect(stats).toMatchObject({ clusters: 2, members: 3, merged: 0, possibleMisses: 0 })
    expect(stats.largest).toEqual([
      { id: large.id, size: 3 },
      { id: small.id, size: 2 },
    ])
    expect(stats.tables!.bytes.signatures).toBeGreaterThan(0)
    expect((await resolver.stats('g', { largest: 1 })).largest).toHaveLength(1)
    expect(await resolver.stats('nobody')).toMatchObject({ clusters: 0, largest: [] })
  })

  it('resolves many, in order, with an outcome each', async () => {
    await using resolver = await place.open({ threshold: 0.7 })
    const values = [WORDS, NEAR, '', WORDS, '\ud800', OTHER] as const
    const items = values.map((value) => ({ group: 'g', value }))
    const wrong = { group: 'g', value: null as unknown as string }
    const outcomes = await resolver.resolveMany([...items, wrong])
    const results = outcomes.map((one) =>
      one.ok ? one.result.status : Reflect.get(one.error, 'code'),
    )
    const bad = 'INVALID_VALUE'
    expect(results).toEqual(['new', 'match', bad, 'exact', bad, 'new', bad])
    async function* source() {
      yield* items
    }
    const again: string[] = []
    for await (const one of resolver.resolveMany(source())) {
      again.push(one.ok ? one.result.status : 'error')
    }
    expect(again).toEqual(['exact', 'known', 'error', 'exact', 'error', 'exact'])
  })

  it('says that it is closed', async () => {
    const resolver = await place.open()
    await resolver.close()
    await expect(resolver.resolve('g', WORDS)).rejects.toMatchObject({ code: 'BACKEND_CLOSED' })
    await expect(resolver.lookup('g', WORDS)).rejects.toMatchObject({ code: 'BACKEND_CLOSED' })
    await expect(resolver.delete('g', WORDS)).rejects.toMatchObject({ code: 'BACKEND_CLOSED' })
  })
})
