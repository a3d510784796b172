import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, describe, expect, it } from 'vitest'

import { randomBytes, randomTexts } from '../../test/texts/random-texts.ts'
import {
  closeFingerprintPool,
  fingerprintMany,
  FingerprintPool,
  sketchThread,
} from './fingerprint-many.ts'
import { type SimilaritySketch, sketchOf } from './similarity-sketch.ts'
import { type BatchRequest, sketchesOf, TextBatch } from './text-batch.ts'

async function all(sketches: AsyncIterable<SimilaritySketch>): Promise<SimilaritySketch[]> {
  const found: SimilaritySketch[] = []
  for await (const sketch of sketches) found.push(sketch)
  return found
}

afterAll(closeFingerprintPool)

describe('many fingerprints', () => {
  it('are the same as one by one, in order, however many workers there are', async () => {
    const random = randomTexts(3)
    const texts = [
      ...Array.from({ length: 4000 }, () => random.next()),
      'x y '.repeat(300_000),
      randomBytes(random, 100_000),
      '',
      'मानव '.repeat(100_000),
      ...Array.from({ length: 500 }, () => random.next()),
    ]
    const expected = texts.map((text) => sketchOf(text, { slots: 64 }))
    for (const workers of [1, 3]) {
      const pool = new FingerprintPool({ workers })
      expect(await all(fingerprintMany(texts, { slots: 64, pool }))).toEqual(expected)
      await pool.close()
    }
  })

  it('come from async sources, several at once', async () => {
    async function* source(prefix: string) {
      for (let count = 0; count < 3000; count++) yield `${prefix} ${count}`
    }
    const [first, second] = await Promise.all([
      all(fingerprintMany(source('a'), { profile: 'words-2' })),
      all(fingerprintMany(source('b'), { profile: 'chars' })),
    ])
    expect(first).toHaveLength(3000)
    expect(first[2999]).toEqual(sketchOf('a 2999', { profile: 'words-2' }))
    expect(second[1234]).toEqual(sketchOf('b 1234', { profile: 'chars' }))
  })

  it('need no text at all', async () => {
    expect(await all(fingerprintMany([]))).toEqual([])
  })

  it('can be left early', async () => {
    for await (const sketch of fingerprintMany(Array.from({ length: 5000 }, (_, at) => `t${at}`))) {
      expect(sketch).toEqual(sketchOf('t0'))
      break
    }
    expect(await all(fingerprintMany(['after']))).toEqual([sketchOf('after')])
  })

  it('fail when their source fails, when a text is none, and when options are wrong', async () => {
    async function* broken() {
      yield 'a'
      throw new Error('the source is broken')
    }
    await expect(all(fingerprintMany(broken()))).rejects.toThrow('the source is broken')
    // @ts-expect-error: not a text
    await expect(all(fingerprintMany(['a', 5]))).rejects.toThrow(/string or UTF-8/)
    await expect(all(fingerprintMany(['a'], { slots: 5 }))).rejects.toThrow(/multiple of 16/)
    // @ts-expect-error: not a profile
    await expect(all(fingerprintMany(['a'], { profile: 'no' }))).rejects.toThrow(/shingle profile/)
    expect(() => new FingerprintPool({ workers: 0 })).toThrow(/whole number/)
  })

  it('fail when their pool is closed, at once and under way', async () => {
    const pool = new FingerprintPool({ workers: 1 })
    const failed = expect(all(fingerprintMany(['a'], { pool }))).rejects.toThrow(
      expect.objectContaining({ code: 'WORKER_FAILED' }),
    )
    await new Promise((resolve) => setImmediate(resolve))
    await pool.close()
    await failed
    await expect(all(fingerprintMany(['a'], { pool }))).rejects.toThrow(/closed/)
  })

  it('fail by name when a worker fails, which then goes on', async () => {
    const worker = sketchThread()
    const request = (slots: number): BatchRequest => {
      const batch = new TextBatch()
      batch.add('some text')
      return batch.take('words', slots)
    }
    await expect(worker.ask(request(-1))).rejects.toThrow(
      expect.objectContaining({ code: 'WORKER_FAILED', retryable: true }),
    )
    expect(sketchesOf(await worker.ask(request(64)))).toEqual([
      sketchOf('some text', { profile: 'words', slots: 64 }),
    ])
    await worker.close()
    expect(worker.busy).toBe(0)
  })

  it('never keep the process alive', async () => {
    const child = fileURLToPath(new URL('../../test/children/fingerprint-many.ts', import.meta.url))
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ['--import', 'tsx', child], { timeout: 30_000 })
    expect(stdout).toBe('3')
  })
})
