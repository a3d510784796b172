/** Embedders, rerankers and judges that hang or fail: puts fail by name, and the store can be closed. */

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { describe, expect, it, onTestFinished, vi } from 'vitest'

import { sentence, wordEmbedder } from '../../../test/texts/meanings.ts'
import { openStore, type StoreOptions } from '../../index.ts'
import { Deadline } from '../../semantic/deadline.ts'

const never = () => new Promise<never>(() => {})
const A = sentence(1)
const A_ONE = sentence(1, 1)

function open(semantic: StoreOptions['semantic']) {
  const embedder = wordEmbedder()
  return openStore('memory:', {
    dedup: 'semantic',
    semantic: { embedder, threshold: 0.8, callbackTimeoutMs: 20, ...semantic },
  })
}

describe('a callback that hangs', () => {
  it('embedder: put fails with CALLBACK_TIMEOUT, its signal is aborted, and close finishes', async () => {
    const signals: (AbortSignal | undefined)[] = []
    const embed = (_texts: readonly string[], { signal }: { signal?: AbortSignal | undefined }) => {
      signals.push(signal)
      return never()
    }
    const store = await open({ embedder: { ...wordEmbedder(), embed } })
    const puts = Promise.allSettled([store.put('a', A), store.put('b', sentence(2))])
    await store.close()
    for (const put of await puts) {
      expect(put).toMatchObject({
        reason: { code: 'CALLBACK_TIMEOUT', kind: 'unavailable', retryable: true },
      })
    }
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true])
  })

  it('reranker: put fails with CALLBACK_TIMEOUT, and close finishes', async () => {
    const store = await open({ rerank: never, rerankMin: 0.5 })
    await store.put('a', A)
    await expect(store.put('b', A_ONE)).rejects.toMatchObject({ code: 'CALLBACK_TIMEOUT' })
    expect(await store.has('b')).toBe(false)
    await store.close()
  })

  it('judge: it said no', async () => {
    const store = await open({ judge: never, judgeTimeoutMs: 20 })
    await store.put('a', A)
    expect(await store.put('b', A_ONE)).toMatchObject({ content: 'new' })
    await store.close()
  })

  it.each(['judge', 'embedder'])(
    '%s: a script does not end in the middle of a put',
    async (which) => {
      const main = fileURLToPath(new URL('../../../dist/index.js', import.meta.url))
      const script = `
      import { openStore } from ${JSON.stringify(main)}
      const never = () => new Promise(() => {})
      const vector = async ([text]) => [Float32Array.of(1, text.length)]
      const embedder = { id: 'one', dimensions: 2, embed: vector }
      const semantic = { embedder, threshold: 0.5, judge: never, judgeTimeoutMs: 100, callbackTimeoutMs: 100 }
      const store = await openStore('memory:', { dedup: 'semantic', semantic })
      await store.put('a', 'some words')
      if (${JSON.stringify(which)} === 'embedder') embedder.embed = never
      await store.put('b', 'other words').then(
        ({ content }) => console.log(content),
        ({ code }) => console.log(code),
      )
      await store.close()
      console.log('closed')`
      const args = ['--input-type=module', '-e', script]
      const { stdout } = await promisify(execFile)(process.execPath, args)
      const expected = { judge: 'new', embedder: 'CALLBACK_TIMEOUT' }[which]
      expect(stdout).toBe(`${expected}\nclosed\n`)
    },
  )
})

describe('an embedder that throws', () => {
  it.each([
    ['a promise', () => Promise.reject(new TypeError('no model'))],
    [
      'at once',
      () => {
        throw new TypeError('no model')
      },
    ],
  ])('%s: put fails with EMBEDDER_FAILED and the cause', async (_, embed) => {
    await using store = await open({ embedder: { ...wordEmbedder(), embed } })
    const error = await store.put('a', A).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'EMBEDDER_FAILED',
      kind: 'unavailable',
      message: expect.stringContaining('no model'),
      cause: new TypeError('no model'),
    })
    expect(await store.has('a')).toBe(false)
  })
})

describe('a deadline', () => {
  const fake = () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
  }

  it('is not reached by calls that wait for others which are answered', async () => {
    fake()
    const deadline = new Deadline('It', 100)
    const after = (ms: number) => () =>
      new Promise<number>((resolve) => {
        setTimeout(() => resolve(ms), ms)
      })
    const calls = Promise.all([90, 180, 270].map((ms) => deadline.run(after(ms))))
    await vi.advanceTimersByTimeAsync(300)
    expect(await calls).toEqual([90, 180, 270])
  })

  it('is reached by all calls behind one that is never answered, whatever others do', async () => {
    fake()
    const deadline = new Deadline('It', 100)
    const hung = Promise.allSettled([deadline.run(never), deadline.run(never)])
    for (let at = 0; at < 15; at++) {
      await deadline.run(async () => 'quick')
      await vi.advanceTimersByTimeAsync(10)
    }
    const late = { status: 'rejected', reason: { code: 'CALLBACK_TIMEOUT' } }
    expect(await hung).toMatchObject([late, late])
  })

  it('leaves no timer behind', async () => {
    fake()
    await new Deadline('It', 100).run(async () => 'quick')
    expect(vi.getTimerCount()).toBe(0)
  })
})
