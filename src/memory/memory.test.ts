/** The memory: what is the same, what is more, what contradicts, and that nothing is lost by it. */

import { afterEach, describe, expect, it } from 'vitest'

import { wordEmbedder } from '../../test/texts/meanings.ts'
import { type Memory, openMemory } from './index.ts'

const opened: Memory[] = []
afterEach(async () => {
  for (const memory of opened.splice(0)) await memory.close()
})

async function open(clock?: () => number): Promise<Memory> {
  const memory = await openMemory('memory:', { model: wordEmbedder(), threshold: 0.7, clock })
  opened.push(memory)
  return memory
}

const PAYS = 'the customer in the north pays 1,500 euros for support every month'
const PAYS_MORE = 'the customer in the north pays 1,600 euros for support every month'

describe('a fact', () => {
  it('is kept once, however it is written', async () => {
    const memory = await open(() => 5)
    const first = await memory.remember(PAYS, { from: 'mail' })
    expect(first).toMatchObject({ relation: 'new', to: [] })
    expect(await memory.remember(PAYS.toUpperCase())).toMatchObject({
      id: first.id,
      relation: 'same',
      to: [{ fact: PAYS }],
    })
    const reworded = 'every month the customer in the north pays 1,500 euros for support'
    expect(await memory.remember(reworded)).toMatchObject({ id: first.id, relation: 'same' })
    expect(await memory.recall('customer pays support')).toMatchObject([
      { id: first.id, fact: PAYS, meta: { from: 'mail' }, rememberedAt: 5 },
    ])
  })

  it.each([
    [PAYS_MORE, 'numbers'],
    ['the customer in the north never pays 1,500 euros for support every month', 'negation'],
    ['the customer in the south pays 1,500 euros for support every month', 'words'],
  ])('that contradicts another is kept beside it, and both say so: %s', async (other, guard) => {
    const memory = await open()
    const first = await memory.remember(PAYS)
    const second = await memory.remember(other)
    expect(second).toMatchObject({ relation: 'contradicts', to: [{ id: first.id, fact: PAYS }] })
    expect(second.to[0]?.vetoes.map((veto) => veto.guard)).toContain(guard)
    const facts = await memory.recall(PAYS)
    expect(facts.map(({ id, contradicts }) => [id, contradicts])).toEqual([
      [first.id, [second.id]],
      [second.id, [first.id]],
    ])
    expect(await memory.forget(second.id)).toBe(true)
    expect(await memory.forget(second.id)).toBe(false)
    expect(await memory.recall(PAYS)).toMatchObject([{ id: first.id, contradicts: [] }])
  })

  it('that says more is kept beside what it refines; one that says less is the same', async () => {
    const memory = await open()
    const first = await memory.remember(PAYS)
    const more = await memory.remember(`${PAYS} by debit`)
    expect(more).toMatchObject({ relation: 'refines', to: [{ id: first.id }] })
    const most = await memory.remember(`${PAYS} by debit from a bank`)
    expect(most.to.map(({ id }) => id)).toContain(more.id)
    const less = PAYS.replace('in the north ', '')
    expect(await memory.remember(less)).toMatchObject({ relation: 'same' })
    const facts = await memory.recall(PAYS)
    expect(facts.map(({ id }) => id).toSorted()).toEqual([first.id, more.id, most.id].toSorted())
    expect(facts.find(({ id }) => id === more.id)?.refines).toEqual([first.id])
  })

  it('is one of those remembered at the same moment', async () => {
    const memory = await open()
    const all = await Promise.all(
      [PAYS, PAYS.replace('every month', 'each month'), PAYS].map((fact) => memory.remember(fact)),
    )
    expect(all.map(({ relation }) => relation)).toEqual(['new', 'same', 'same'])
    expect(await memory.recall('customer', 9)).toHaveLength(1)
  })

  it('has words, and is asked for by a number of results', async () => {
    const memory = await open()
    await expect(memory.remember(' ')).rejects.toMatchObject({ code: 'INVALID_VALUE' })
    await expect(memory.recall('x', 0)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})
