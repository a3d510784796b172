/** Writers of a semantic store that are killed while they save its index. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

import { openStore } from '../src/index.ts'

const WRITER = fileURLToPath(new URL('./children/semantic-writer.mjs', import.meta.url))
const ROUNDS = 6

interface Acknowledged {
  readonly at: number
  readonly text: string
  readonly content: string
}

/** Kills a writer a moment after one of its saves has begun. */
async function writeAndDie(directory: string, from: number, saves: number, delayMs: number) {
  const child = spawn(process.execPath, [WRITER, directory, String(from)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const acknowledged: Acknowledged[] = []
  let seen = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const told: Acknowledged | 'saving' = JSON.parse(line)
    if (told !== 'saving') acknowledged.push(told)
    else if (++seen === saves) setTimeout(() => child.kill('SIGKILL'), delayMs)
  }
  await closed
  return acknowledged
}

describe('a semantic store whose writer is killed while it saves the index', () => {
  it('has every acknowledged text, finds what was there, and is sound', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-semantic-'))
    const all: Acknowledged[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const from = (all.at(-1)?.at ?? -1) + 1 + ((all.length + 1) % 2)
      const start = from + (from % 2)
      all.push(...(await writeAndDie(directory, start, 2, round % 3)))
    }
    expect(all.length).toBeGreaterThan(ROUNDS * 20)
    // Every second text is the one before it with another word at its end.
    for (const { at, content } of all) expect(content).toBe(at % 2 === 1 ? 'linked' : 'new')
    const store = await openStore(directory, { durability: 'os' })
    for (const { at, text } of all) expect(await store.getText(`key ${at}`)).toBe(text)
    expect((await store.verify()).problems).toEqual([])
    await store.close()
    const left = (await readdir(directory)).filter((name) => name.includes('.tmp-'))
    expect(left.length).toBeLessThanOrEqual(ROUNDS)
    await rm(directory, { recursive: true })
  }, 120_000)
})
