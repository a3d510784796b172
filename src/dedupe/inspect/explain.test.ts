import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { jsonl, textMaker } from '../../../test/corpus-kit.ts'
import { directoryWith } from '../../../test/input-kit.ts'
import type { DedupeOptions } from '../open.ts'
import { openDedupe } from '../open.ts'

const text = textMaker(33)
const [one, two] = [text(90), text(90)]

async function deduped(docs: readonly object[], options: DedupeOptions = {}) {
  const directory = directoryWith({ 'in.jsonl': jsonl(docs) })
  const deduper = await openDedupe('memory:', options)
  const inputs = [join(directory, 'in.jsonl')]
  await deduper.run({ inputs, out: join(directory, 'out'), run: 'first' })
  return { deduper, inputs, directory }
}

describe('why', () => {
  it('names the share that a contained document would have to have', async () => {
    const part = one.split(' ').slice(0, 60).join(' ')
    const docs = [
      { id: 'whole', text: `${one} ${two}` },
      { id: 'part', text: `${part} ${text(8)}` },
    ]
    const containment = { enabled: true, action: 'drop' } as const
    const { deduper } = await deduped(docs, { containment })
    const [why] = await deduper.why('part')
    expect(why).toMatchObject({ status: 'dropped', method: 'containment', kept: { id: 'whole' } })
    expect(why?.shareOfOther).toBeLessThan(0.5)
    const [first, second] = why?.changes ?? []
    expect(first).toMatchObject({ outcome: 'kept', also: 'higher' })
    expect(second).toMatchObject({ setting: '--containment-action link' })
    const min = Number(first?.setting.replace('--containment ', ''))
    const stricter = await deduped(docs, { containment: { ...containment, min } })
    expect((await stricter.deduper.why('part'))[0]?.status).toBe('kept')
    await Promise.all([deduper.close(), stricter.deduper.close()])
  })

  it('names the bits of a SimHash', async () => {
    const docs = [
      { id: 'a', text: one },
      { id: 'b', text: `${one} x` },
    ]
    const { deduper } = await deduped(docs, {
      simhash: { enabled: true },
      near: { enabled: false },
    })
    const [why] = await deduper.why('b')
    expect(why).toMatchObject({ method: 'simhash', status: 'dropped' })
    const settings = why?.changes.map(({ setting }) => setting)
    expect(settings).toContain('simhash.action: link')
    expect(why?.similarity).toBeLessThan(1)
    expect(settings?.[0]).toMatch(/^simhash\.distanceMax: [012]$/)
    await deduper.close()
  })

  it('shows each of several texts of one id in one file', async () => {
    const { deduper } = await deduped([
      { id: 'x', text: one },
      { id: 'x', text: two },
      { id: 'x', text: one.toUpperCase() },
    ])
    const all = await deduper.why('x')
    const byLine = all.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
    expect(byLine.map(({ line, status }) => [line, status])).toEqual([
      [1, 'kept'],
      [2, 'kept'],
      [3, 'dropped'],
    ])
    expect(byLine.map((found) => found.text)).toEqual([one, two, one.toUpperCase()])
    await deduper.close()
  })

  it('says so where the document that another was measured against has changed', async () => {
    const deduper = await openDedupe('memory:')
    await deduper.decide({ id: 'a', text: one })
    await deduper.decide({ id: 'b', text: `${one} more` })
    expect((await deduper.why('b'))[0]).toMatchObject({ status: 'dropped', against: { id: 'a' } })
    expect((await deduper.why('b'))[0]?.isOrphaned).toBeUndefined()
    await deduper.decide({ id: 'a', text: two })
    const [orphan] = await deduper.why('b')
    expect(orphan).toMatchObject({ isOrphaned: true, changes: [] })
    expect([orphan?.kept, orphan?.cluster]).toEqual([undefined, undefined])
    await deduper.close()
  })

  it('leaves no trace', async () => {
    const { deduper, inputs, directory } = await deduped([
      { id: 'a', text: one },
      { id: 'b', text: `${one} more` },
    ])
    const before = await deduper.why('a')
    await deduper.closeCalls()
    await deduper.clusters()
    expect(await deduper.why('a')).toEqual(before)
    const again = await deduper.run({ inputs, out: join(directory, 'out') })
    expect(again.status).toBe('nothing')
    await deduper.close()
  })

  it('of an unknown id is nothing, and numbers that are none are refused by name', async () => {
    const deduper = await openDedupe('memory:')
    expect(await deduper.why('nobody')).toEqual([])
    expect(await deduper.clusters()).toEqual([])
    expect(await deduper.closeCalls()).toMatchObject({ calls: [], representatives: 0 })
    await expect(deduper.clusters({ limit: 0 })).rejects.toThrow('limit: must be a whole number')
    await expect(deduper.clusters({ sizeMin: 1.5 })).rejects.toThrow('sizeMin: must be')
    await expect(deduper.closeCalls({ count: 1001 })).rejects.toThrow('1 to 1000, not 1001')
    await deduper.close()
  })
})
