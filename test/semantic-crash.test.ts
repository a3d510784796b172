/** An index that is saved while its process is killed is whole afterwards: the last acknowledged one, or a later one. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { loadIndex, readIndexOptions, saveIndex } from '../src/semantic/index.ts'

const CHILD = fileURLToPath(new URL('./children/index-saver.mjs', import.meta.url))
const BUILDER = fileURLToPath(new URL('./children/index-builder.mjs', import.meta.url))

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-index-crash-'))
})
afterAll(() => rm(directory, { recursive: true }))

describe.each(['scan', 'hnsw', 'ivf'] as const)('a saved index: %s', (engine) => {
  it.each([1, 3, 6])('is whole when its process is killed after save %i', async (saves) => {
    const path = join(directory, `${engine}-${saves}`)
    const child = spawn(process.execPath, [CHILD, path, engine], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    let acknowledged = 0
    let seen = 0
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged = Number(line)
      if (++seen === saves) child.kill('SIGKILL')
    }
    await exited
    const options = readIndexOptions({ engine })
    const loaded = await loadIndex(path, { embedder: 'model', dimensions: 32, options })
    if (!('index' in loaded)) throw new Error(`It is ${loaded.unusable}.`)
    expect(Number(loaded.position)).toBeGreaterThanOrEqual(acknowledged)
    expect(loaded.index.size).toBe(Number(loaded.position) + 1)
    // What the killed process had begun to write is removed by the next save.
    await saveIndex(loaded.index, path, { embedder: 'model', position: '0' })
    const left = (await readdir(directory)).filter((name) => name.startsWith(`${engine}-${saves}.`))
    expect(left).toEqual([])
  })
})

describe('an index of lists whose process is killed', () => {
  it.each(['filling', 'learning', 'built', 'saved'])(
    'while it is %s leaves a whole file or none',
    async (word) => {
      const path = join(directory, `killed-${word}`)
      const child = spawn(process.execPath, [BUILDER, path, '3000'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const exited = once(child, 'exit')
      for await (const line of createInterface({ input: child.stdout })) {
        if (line === word) child.kill('SIGKILL')
      }
      await exited
      const options = readIndexOptions({ engine: 'ivf' })
      const loaded = await loadIndex(path, { embedder: 'model', dimensions: 32, options })
      const names = (await readdir(directory)).filter((name) => name.startsWith(`killed-${word}`))
      if ('index' in loaded) expect([loaded.position, loaded.index.size]).toEqual(['3000', 3000])
      else expect(loaded.unusable).toBe('missing')
      expect('index' in loaded || word !== 'saved').toBe(true)
      // Only a save that was cut off leaves something, which the next one removes.
      if (word === 'filling' || word === 'learning') expect(names).toEqual([])
    },
  )
})
