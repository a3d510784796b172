/** Copies that look the same are found wherever texts are compared; what an earlier version wrote goes on as it was. */

import { describe, expect, it } from 'vitest'

import { cell, read, type Scope } from '../src/backends/index.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SETTINGS } from '../src/dedupe/state-settings.ts'
import { openDedupe, openResolver, openStore } from '../src/index.ts'
import { settings as settingsOfResolvers } from '../src/resolve/rows.ts'

const TEXT =
  'It\'s a long way from "here" to the café - and nobody knows why the old mill, which stood ' +
  'by the river for two hundred years, was taken down in the spring; ask the miller about it.'

const everySeventeenth = (text: string, char: string): string =>
  text.replaceAll(/.{17}/gsu, (part) => part + char)
const wide = (text: string): string =>
  text.replaceAll(/[!-~]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0))

const COPIES = [
  ['a zero-width space every 17 characters', everySeventeenth(TEXT, '\u200b')],
  ['soft hyphens and joiners', everySeventeenth(everySeventeenth(TEXT, '\u00ad'), '\u200d')],
  ['curly quotes and a dash', TEXT.replace("'", '’').replace('"here"', '“here”').replace('-', '–')],
  ['its decomposition', TEXT.normalize('NFD')],
  ['full-width characters', wide(TEXT)],
] as const

describe.each(COPIES)('a copy with %s', (_name, copy) => {
  it('is found by a store, a resolver and a job', async () => {
    await using store = await openStore('memory:', { dedup: 'near' })
    await store.put('first', TEXT)
    expect(await store.put('copy', copy)).toMatchObject({ method: 'near', similarity: 1 })
    await using canonical = await openStore('memory:', { canonical: 'unicode' })
    await canonical.put('first', TEXT)
    expect(await canonical.put('copy', copy)).toMatchObject({ method: 'canonical' })
    await using resolver = await openResolver('memory:')
    const { id } = await resolver.resolve('group', TEXT)
    expect(await resolver.resolve('group', copy)).toMatchObject({ id, similarity: 1 })
    await using job = await openDedupe(new MemoryBackend())
    await job.decide({ id: 'first', text: TEXT })
    expect(await job.decide({ id: 'copy', text: copy })).toMatchObject({ method: 'canonical' })
  })
})

describe('a copy without accents', () => {
  const [accented, plain] = ['Crème brûlée, déjà vu', 'Creme brulee, deja vu']

  it("is found where canonical is 'unaccented'", async () => {
    await using store = await openStore('memory:', { canonical: 'unaccented' })
    await store.put('first', accented)
    expect(await store.put('copy', plain)).toMatchObject({ method: 'canonical' })
    await using job = await openDedupe(new MemoryBackend(), {
      canonical: { profile: 'unaccented' },
    })
    await job.decide({ id: 'first', text: accented })
    expect(await job.decide({ id: 'copy', text: plain })).toMatchObject({ method: 'canonical' })
  })
})

describe('texts with nothing to see in them', () => {
  const blanks = ['\u200b', '\u00ad\u00ad', '\ufeff', ' ', '\u200b'.repeat(60), '\u200b'.repeat(61)]

  it.each([
    { canonical: 'unicode' },
    { canonical: 'unicode', fidelity: 'representative' },
    { dedup: 'near' },
  ] as const)('are the same in a store only where their bytes are: %j', async (options) => {
    await using store = await openStore('memory:', options)
    for (const blank of blanks) {
      expect(await store.put(blank, blank)).toMatchObject({ content: 'new' })
      expect(await store.getText(blank)).toBe(blank)
      expect(await store.put(`${blank} again`, blank)).toMatchObject({ content: 'duplicate' })
    }
    expect((await store.verify()).problems).toEqual([])
  })

  it('are the same to a job only where their bytes are', async () => {
    await using job = await openDedupe(new MemoryBackend())
    for (const text of ['', ...blanks]) {
      expect(await job.decide({ id: `a${text}`, text })).toMatchObject({ action: 'keep' })
      expect(await job.decide({ id: `b${text}`, text })).toMatchObject({ method: 'exact' })
    }
  })

  it('are known to a resolver only where their bytes are', async () => {
    await using resolver = await openResolver('memory:')
    const ids = new Set<string>()
    for (const blank of blanks) ids.add((await resolver.resolve('group', blank)).id)
    expect(ids.size).toBe(blanks.length)
  })
})

describe('what version 1 of unicode wrote', () => {
  const hidden = everySeventeenth(TEXT, '\u200b')

  const OLD = { name: 'unicode', version: 1 }

  /** As an earlier version recorded it; settings of format 1 have no checksum. */
  function makeOldStore(engine: MemoryEngine): void {
    const space = engine.space('settings')
    const { sum: _sum, ...settings } = JSON.parse(String(space.get('\0store')))
    const old = { ...settings, format: 1, canonical: OLD }
    space.set('\0store', Buffer.from(JSON.stringify(old)))
  }

  async function makeOldResolver(engine: MemoryEngine): Promise<void> {
    const at = cell(settingsOfResolvers, Buffer.from('resolver'))
    await new MemoryBackend({}, engine).run(function* (scope: Scope) {
      const [found = ''] = yield* read(at)
      scope.write(at, JSON.stringify({ ...JSON.parse(found), canonical: OLD }))
    })
  }

  it.each([{}, { canonical: 'unicode' }] as const)(
    'is opened with %j as it is: a store and a resolver',
    async (options) => {
      const engine = new MemoryEngine()
      await (await openStore(new MemoryBackend({}, engine), { canonical: 'unicode' })).close()
      makeOldStore(engine)
      await using store = await openStore(new MemoryBackend({}, engine), options)
      expect(store.settings.canonical).toEqual(OLD)
      await store.put('first', TEXT)
      expect(await store.put('upper', TEXT.toUpperCase())).toMatchObject({ method: 'canonical' })
      expect(await store.put('copy', hidden)).toMatchObject({ content: 'new' })

      const other = new MemoryEngine()
      await (await openResolver(new MemoryBackend({}, other))).close()
      await makeOldResolver(other)
      await using resolver = await openResolver(new MemoryBackend({}, other), options)
      expect(resolver.settings.canonical).toEqual(OLD)
      await resolver.resolve('group', TEXT)
      expect((await resolver.resolve('group', hidden)).status).toBe('new')
    },
  )

  it('is opened as it is: the state of a job', async () => {
    const engine = new MemoryEngine()
    const open = () => openDedupe(new MemoryBackend({}, engine), { near: { enabled: false } })
    const first = await open()
    await first.decide({ id: 'before', text: 'The settings of a state with documents stay.' })
    await first.close()
    const raw = new MemoryBackend({}, engine)
    await raw.run(function* (scope: Scope) {
      scope.write(SETTINGS, {
        format: 2,
        canonical: 'unicode',
        near: false,
        simhash: false,
        chunks: false,
      })
    })
    const job = await open()
    await job.decide({ id: 'first', text: TEXT })
    expect(await job.decide({ id: 'upper', text: TEXT.toUpperCase() })).toMatchObject({
      method: 'canonical',
    })
    expect(await job.decide({ id: 'copy', text: hidden })).toMatchObject({ action: 'keep' })
    await job.close()
    const other = { canonical: { profile: 'unaccented' }, near: { enabled: false } } as const
    await expect(openDedupe(new MemoryBackend({}, engine), other)).rejects.toThrow(
      "canonical is 'unicode' there, and 'unaccented' was asked for",
    )
  })

  it('differs from what is new in the state of a job, so that an earlier version refuses that', async () => {
    const other = { canonical: { profile: 'whitespace' } } as const
    const engine = new MemoryEngine()
    const first = await openDedupe(new MemoryBackend({}, engine))
    await first.decide({ id: 'before', text: 'The settings of a state with documents stay.' })
    await first.close()
    await expect(openDedupe(new MemoryBackend({}, engine), other)).rejects.toThrow(
      "canonical is 'unicode, version 2' there, and 'whitespace' was asked for",
    )
  })
})
