/** The command line on stores that link near duplicates. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { inProcess as prestige, type RunOptions } from './children/cli.ts'
import { edited, exactSimilarity, textOf } from './texts/near-texts.ts'

const A = textOf(1, 100)
const B = `${A} end`
const SIMILARITY = exactSimilarity(A, B)
const SHOWN = `${(Math.floor(SIMILARITY * 1000) / 10).toFixed(1)} %`

let directory: string
let store: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-cli-near-'))
  store = join(directory, 'store')
  await run(['put', 'a', A, '--dedup', 'near', '--threshold', '0.8'])
})
afterAll(() => rm(directory, { recursive: true }))

const run = (args: readonly string[], options: RunOptions = {}) =>
  prestige(args, { store, ...options })

describe('a near store on the command line', () => {
  it('says what a value is like, and how much', async () => {
    const { text } = await run(['put', 'b', B])
    expect(text).toBe(`created "b": ${B.length} B, linked to "a", ${SHOWN} similar\n`)
    expect((await run(['get', 'b'])).text).toBe(B)
    const { json } = await run(['put', 'c', B, '--json'])
    expect(json).toMatchObject({ content: 'duplicate', method: 'digest' })
    const { json: near } = await run(['put', 'd', `${B} more`, '--json'])
    expect(near).toMatchObject({ method: 'near', threshold: 0.8, of: { firstKey: 'a' } })
  })

  it('explains it again', async () => {
    await run(['put', 'e', B])
    const { text } = await run(['explain', 'b'])
    expect(text).toContain(`linked to "a", ${SHOWN} similar (80.0 % asked for)`)
    expect((await run(['explain', 'a'])).text).toContain('new: nothing like it was known')
    expect((await run(['explain', 'b', '--json'])).json).toMatchObject({ similarity: SIMILARITY })
  })

  it('says why a value was not compared', async () => {
    const { text } = await run(['put', 'binary'], { input: Buffer.from([255, 254, 253]) })
    expect(text).toBe(
      'created "binary": new content, 3 B; not compared with others: it is no text\n',
    )
  })

  it('counts what is linked', async () => {
    const { text } = await run(['stats'])
    expect(text).toMatch(/near +\d+ +contents linked to a similar one/)
    expect(text).toContain('canonical none, near from 80.0 %, fidelity own')
    expect((await run(['stats', '--json'])).json.near.links).toBeGreaterThan(0)
  })

  it('keeps whole what is linked, if asked to, and says so', async () => {
    const more = ['--store', join(directory, 'whole')]
    const long = `${A} `.repeat(8)
    await run(['put', 'a', long, '--dedup', 'near', '--no-deltas', ...more])
    expect((await run(['put', 'b', `${long}end`, '--no-deltas', ...more])).text).toContain('linked')
    const { text } = await run(['stats', ...more])
    expect(text).toContain('near from 80.0 %, no deltas, fidelity own')
    expect((await run(['explain', 'b', '--json', ...more])).json.delta).toBeUndefined()
    const refused = await run(['put', 'c', long, '--no-deltas'])
    expect(refused.code).not.toBe(0)
    expect(refused.err).toContain('deltas')
  })

  it('verifies, with --repair too', async () => {
    expect((await run(['verify'])).code).toBe(0)
    expect((await run(['verify', '--repair'])).code).toBe(0)
  })

  it('with shared bytes tells whose', async () => {
    const shared = { store: join(directory, 'shared') }
    await run(['put', 'a', A, '--dedup', 'near', '--fidelity', 'representative'], shared)
    expect((await run(['put', 'b', B], shared)).text).toBe(
      `created "b": duplicate of "a", ${SHOWN} similar; ${B.length} B saved\n`,
    )
    expect((await run(['put', 'b', B], shared)).text).toBe(
      `unchanged "b": it keeps the bytes of "a", ${SHOWN} similar\n`,
    )
    expect((await run(['get', 'b'], shared)).text).toBe(A)
  })
})

describe('similar', () => {
  it('lists what is like a text from an argument, a file or stdin', async () => {
    const path = join(directory, 'text')
    await writeFile(path, B)
    const [typed, file, stdin] = await Promise.all([
      run(['similar', B]),
      run(['similar', '--file', path]),
      run(['similar'], { input: B }),
    ])
    expect(typed.text).toMatch(/^ +similar +size +stored +first key\n/)
    expect(typed.text.split('\n')[1]).toMatch(
      new RegExp(`^ +${SHOWN} +${A.length} B +\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z +a$`),
    )
    expect([file.text, stdin.text]).toEqual([typed.text, typed.text])
  })

  it('lists it for machines, as much and as similar as is asked for', async () => {
    const { json } = await run(['similar', B, '--json'])
    expect(json).toMatchObject([{ similarity: SIMILARITY, firstKey: 'a', bytes: A.length }])
    expect((await run(['similar', B, '--json', '--threshold', '0.995'])).json).toEqual([])
    expect((await run(['similar', B, '--json', '--limit', '1'])).json).toHaveLength(1)
    const nothing = await run(['similar', textOf(7, 50)])
    expect([nothing.code, nothing.text]).toEqual([0, ''])
  })

  it.each([
    [['--limit', '0'], 2],
    [['--limit', 'x'], 2],
    [['--threshold', '1.5'], 2],
    [['--threshold', '0'], 2],
    [['--threshold', '-1'], 2],
    [['--threshold', 'high'], 2],
    [['--file', '/nowhere/at/all'], 3],
    [['too', 'much'], 2],
  ])('refuses %j', async (args, code) => {
    const given = args[0] === '--file' || args[0] === 'too' ? [] : ['text']
    expect((await run(['similar', ...given, ...args])).code).toBe(code)
  })

  it('refuses what is no text, and a store that finds identical bytes only', async () => {
    expect((await run(['similar'], { input: Buffer.from([255]) })).code).toBe(2)
    const exact = { store: join(directory, 'exact') }
    await run(['put', 'a', 'x'], exact)
    const refused = await run(['similar', 'x'], exact)
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--dedup near')])
    expect((await run(['similar', 'x'], { store: join(directory, 'none') })).code).toBe(3)
  })
})

describe('the options of a near store', () => {
  it('are remembered, and refused when they differ', async () => {
    expect((await run(['put', 'x', 'y', '--dedup', 'exact'])).err).toContain('dedup')
    expect((await run(['get', 'a', '--threshold', '0.9'])).err).toContain('threshold')
    expect((await run(['get', 'a', '--dedup', 'near', '--threshold', '0.8'])).text).toBe(A)
    expect((await run(['put', 'x', 'y', '--dedup', 'nearly'])).err).toContain('exact, near')
  })

  it('make no exact store by mistake', async () => {
    const other = { store: join(directory, 'mistake') }
    expect((await run(['put', 'a', 'x', '--threshold', '0.9'], other)).code).toBe(2)
    const both = ['--threshold', '0.9', '--dedup', 'near']
    expect((await run(['put', 'a', 'x', ...both], other)).code).toBe(0)
  })
})

describe('import', () => {
  it('tells the near duplicates it met, the most similar first', async () => {
    const tree = join(directory, 'tree')
    await mkdir(tree)
    const long = textOf(5, 300)
    await writeFile(join(tree, '1.txt'), long)
    await writeFile(join(tree, '2.txt'), edited(long, 2))
    await writeFile(join(tree, '3.txt'), `${long} end`)
    await writeFile(join(tree, '4.txt'), textOf(6, 300))
    const other = { store: join(directory, 'imported') }
    const { text } = await run(['import', tree, '--dedup', 'near'], other)
    expect(text).toMatch(/linked +2 /)
    expect(text).toContain('2 near duplicates\n')
    const lines = text.split('\n').filter((line) => line.includes(' like '))
    expect(lines.map((line) => line.trim().replace(/^[\d.]+ % +/, ''))).toEqual([
      '3.txt like 1.txt',
      '2.txt like 1.txt',
    ])
    const again = { store: join(directory, 'imported as JSON') }
    const { json } = await run(['import', tree, '--dedup', 'near', '--json'], again)
    expect(json.near).toMatchObject({ count: 2, mostSimilar: [{ key: '3.txt' }, { key: '2.txt' }] })
    expect((await run(['import', tree, '--json'], again)).json.near.count).toBe(0)
  })
})
