import { describe, expect, it } from 'vitest'

import type { LedgerLine } from './lines.ts'
import { openLedger } from './open.ts'

async function idsOf(lines: AsyncIterable<LedgerLine>): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of lines) ids.push(id)
  return ids.toSorted()
}

describe('lists of a ledger', () => {
  it('have the lines of a time and of a status, of all, of a source or of a run', async () => {
    let now = 1000
    await using ledger = await openLedger('memory:', { clock: () => now })
    await ledger.startRun({ id: 'r' })
    await ledger.record([{ id: 'a', status: 'accepted', source: 's', run: 'r' }])
    now = 2000
    await ledger.record([{ id: 'b', status: 'rejected', source: 's', run: 'r' }])
    now = 3000
    await ledger.record([{ id: 'c', status: 'accepted' }])
    expect(await idsOf(ledger.list())).toEqual(['a', 'b', 'c'])
    expect(await idsOf(ledger.list({ since: 2000 }))).toEqual(['b', 'c'])
    expect(await idsOf(ledger.list({ since: 1001, until: new Date(3000) }))).toEqual(['b'])
    expect(await idsOf(ledger.list({ status: 'accepted' }))).toEqual(['a', 'c'])
    expect(await idsOf(ledger.list({ source: 's', until: 2000 }))).toEqual(['a'])
    expect(await idsOf(ledger.list({ run: 'r', status: 'rejected' }))).toEqual(['b'])
    expect(await idsOf(ledger.bySource('s', { since: 2000 }))).toEqual(['b'])
  })

  it('go on page by page with the same lines left out', async () => {
    await using ledger = await openLedger('memory:')
    const inputs = Array.from({ length: 100 }, (_, at) => ({
      id: `d${at}`,
      status: at % 3 === 0 ? ('accepted' as const) : ('failed' as const),
    }))
    await ledger.record(inputs)
    const seen: string[] = []
    for (let startAfter: LedgerLine | undefined; ;) {
      const page: LedgerLine[] = []
      for await (const line of ledger.list({ startAfter, limit: 7, status: 'accepted' }))
        page.push(line)
      seen.push(...page.map(({ id }) => id))
      startAfter = page.at(-1)
      if (!startAfter) break
    }
    expect(seen.length).toBe(34)
    expect(new Set(seen).size).toBe(34)
  })

  it('refuse options that are none', async () => {
    await using ledger = await openLedger('memory:')
    const refused = async (options: object) => idsOf(ledger.list(options))
    await expect(refused({ sinse: 1 })).rejects.toThrow('sinse is not an option')
    await expect(refused({ since: Number.NaN })).rejects.toThrow('since is a time')
    await expect(refused({ status: 'done' })).rejects.toThrow('status is one of')
    await expect(refused({ source: 'a', run: 'b' })).rejects.toThrow('not both')
  })
})

describe('lines', () => {
  it('have a language and the version of the fingerprints, however they are written', async () => {
    await using ledger = await openLedger('memory:')
    const said = { language: 'pt-BR', fingerprintVersion: 'unicode-2/adaptive/128/f1-0' }
    await ledger.record([{ id: 'a', status: 'accepted', detail: 'why', ...said }])
    expect(await ledger.get('a')).toMatchObject({ ...said, detail: 'why' })
    await ledger.record([{ id: 'b', status: 'accepted', language: 'hi', of: 'a' }])
    expect(await ledger.get('b')).toMatchObject({ language: 'hi', of: 'a' })
    const claim = await ledger.claim('c', { leaseMs: 1000 })
    if (claim.ok) await ledger.commit(claim, { status: 'accepted', ...said })
    expect(await ledger.get('c')).toMatchObject(said)
    await expect(
      ledger.record([{ id: 'd', status: 'accepted', language: 'x'.repeat(300) }]),
    ).rejects.toThrow('A language is a string of 1 to 200 bytes')
  })
})
