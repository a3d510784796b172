/** The command line on stores that compare meanings, with a real model. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { inProcess as prestige, prestige as spawned, type Run } from './children/cli.ts'

const A = 'How do I reset my password?'
const B = 'What is the way to reset my password?'

let directory: string
let store: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-cli-semantic-'))
  store = join(directory, 'store')
})
afterAll(() => rm(directory, { recursive: true }))

const run = (...args: readonly string[]) => prestige(args, { store })

describe('meanings on the command line', { timeout: 120_000 }, () => {
  it('have no threshold unless one is given, and it says how to find one', async () => {
    const { code, err } = await run('put', 'a', A, '--dedup', 'semantic')
    expect(code).toBe(2)
    expect(err).toContain('prestige tune --semantic')
  })

  it('are compared by put, told by explain and similar, counted by stats', async () => {
    const made = ['--dedup', 'semantic', '--semantic-threshold', '0.8']
    expect((await run('put', 'a', A, ...made, '--model', 'all-MiniLM-L6-v2')).text).toBe(
      'created "a": new content, 27 B\n',
    )
    // The store knows its model.
    expect((await run('put', 'b', B)).text).toMatch(
      /^created "b": 37 B, linked to "a", 9\d\.\d % similar in meaning\n$/,
    )
    expect((await run('put', 'c', 'How do I reset my passwords in 3 days?')).code).toBe(0)
    expect((await run('put', 'bill', 'The bill is 1,500 euros.')).code).toBe(0)
    expect((await run('put', 'other bill', 'The bill is 1,600 euros.')).text).toMatch(
      /new content, 24 B; "bill" is 9\d\.\d % alike, but numbers differ \(1600 \/ 1500\)/,
    )
    expect((await run('get', 'b')).text).toBe(B)
    expect((await run('explain', 'b')).text).toMatch(
      /linked to "a", 9\d\.\d % similar in meaning \(80\.0 % asked for\)\n +embedder +all-MiniLM-L6-v2\//,
    )
    const { json } = await run('similar', 'reset a password', '--threshold', '0.5', '--json')
    expect(json[0]).toMatchObject({ firstKey: 'a', vetoes: [] })
    expect((await run('stats')).text).toContain('semantic from 80.0 %')
    expect((await run('verify')).text).toContain('sound')
  })

  it('can be compared by another model, after reembed', async () => {
    const other = await run('put', 'x', 'y z', '--model', 'gte-small')
    expect(other.code).toBe(2)
    expect(other.err).toContain('prestige reembed')
    const min = ['--semantic-threshold', '0.9']
    const { json } = await run('reembed', '--model', 'gte-small', ...min, '--json')
    expect(json).toMatchObject({ threshold: 0.9, texts: 5, embedded: 5 })
    expect(json.to).toContain('gte-small')
    expect((await run('explain', 'b', '--json')).json.embedder).toContain('gte-small')
    expect((await run('get', 'b')).text).toBe(B)
    expect((await run('verify')).text).toContain('sound')
  })

  it('are tuned by labelled pairs, with a picture', async () => {
    const pairs = join(directory, 'pairs.jsonl')
    const svg = join(directory, 'curves.svg')
    const lines = [
      { a: A, b: B, label: 1 },
      { a: 'The bill is 1,500 euros.', b: 'The bill is 1,600 euros.', label: 0 },
      { a: 'The cat sat on the mat.', b: 'A cat was sitting on the mat.', label: 1 },
      { a: 'The sky is blue.', b: 'Stocks fell sharply.', label: 0 },
    ]
    await writeFile(pairs, lines.map((line) => JSON.stringify(line)).join('\n'))
    const { json } = await prestige([
      'tune',
      '--semantic',
      '--pairs',
      pairs,
      '--svg',
      svg,
      '--json',
    ])
    expect(json).toMatchObject({ pairs: 4, vetoes: { numbers: { duplicates: 0, different: 1 } } })
    expect(json.chosen.precision.value).toBe(1)
    expect(json.chosen.precision.low).toBeGreaterThan(0)
    expect(await readFile(svg, 'utf8')).toContain('<svg')
    const { code } = await prestige(['tune', '--semantic', '--pairs', pairs, '--slots', '64'])
    expect(code).toBe(2)
  })

  it('do not keep a run going after SIGTERM, which can then be undone and repeated', async () => {
    const cwd = await mkdtemp(join(directory, 'stopped-'))
    // Some minutes of work for the model.
    const texts = Array.from({ length: 500 }, (_, at) =>
      Array.from({ length: 400 }, (_none, word) => `word${(at * 7 + word * word) % 997}`).join(' '),
    )
    const lines = texts.map((text, at) => JSON.stringify({ id: `d${at}`, text }))
    await writeFile(join(cwd, 'in.jsonl'), lines.join('\n'))
    await writeFile(join(cwd, 'c.json'), '{"semantic":{"enabled":true,"threshold":0.9}}')
    const args = ['dedupe', 'in.jsonl', '-o', 'out', '--config', 'c.json']
    const named = [...args, '--run', 'one']
    let run: Run | undefined
    let stoppedAt = 0
    // A process that is ended by the signal itself had not begun to handle it: it gets more time.
    for (const startMs of [3000, 12_000]) {
      if (run && run.code !== null) break
      run = await spawned(named, {
        cwd,
        meanwhile: async (child) => {
          await sleep(startMs)
          stoppedAt = performance.now()
          child.kill('SIGTERM')
        },
      })
    }
    expect([run?.code, run?.err]).toEqual([143, expect.stringContaining('Give the same command')])
    expect(performance.now() - stoppedAt).toBeLessThan(20_000)
    await writeFile(join(cwd, 'in.jsonl'), lines.slice(0, 2).join('\n'))
    const { code } = await prestige(['undo', 'one', '--state', 'out/state'], { cwd })
    expect(code).toBe(0)
    expect((await prestige(args, { cwd })).code).toBe(0)
  })

  it('have models, which are checked', async () => {
    const { code, text } = await prestige(['models'])
    expect(code).toBe(0)
    expect(text).toMatch(/all-MiniLM-L6-v2 +fp32 .*installed, intact/)
    const { json } = await prestige(['models', '--json'])
    expect(json).toContainEqual(expect.objectContaining({ model: 'gte-small', state: 'sound' }))
  })
})
