import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import type { Backend } from '../../backends/contract.ts'
import { MemoryBackend } from '../../backends/memory/backend.ts'
import { openLmdb } from '../../backends/lmdb/backend.ts'
import type { Embedder } from './embedder.ts'
import { cachedEmbedder } from './embedding-cache.ts'
import { decodeVector, embeddings, encodeVector, semanticSpaces } from './embedding-rows.ts'

const open = (): Backend => new MemoryBackend()

/** As many windows as a text has words. Holds back until it is let go. */
class Counting implements Embedder {
  readonly id: string
  readonly dimensions = 3
  readonly calls: string[][] = []
  readonly signals: AbortSignal[] = []
  hold: Promise<void> = Promise.resolve()

  constructor(id = 'counting') {
    this.id = id
  }

  async embed(): Promise<Float32Array[]> {
    throw new Error('not asked for windows')
  }

  async embedWindows(texts: readonly string[], { signal }: { signal?: AbortSignal | undefined }) {
    this.calls.push([...texts])
    if (signal) this.signals.push(signal)
    await this.hold
    return texts.map((text) =>
      text.split(' ').map((word) => Float32Array.of(word.length + 0.1, 1 / 3, this.calls.length)),
    )
  }
}

describe('a cache of embeddings', () => {
  it('embeds identical text once, and gives the same bits', async () => {
    const embedder = new Counting()
    const cached = cachedEmbedder(embedder, open())
    const first = await cached.embedWindows(['one two', 'three', 'one two'])
    const second = await cached.embedWindows(['three', 'one two', 'new'])
    expect(embedder.calls).toEqual([['one two', 'three'], ['new']])
    expect(second[1]).toEqual(first[0])
    expect(second[0]).toEqual(first[1])
    expect(first[2]).toEqual(first[0])
    expect([cached.id, cached.dimensions]).toEqual(['counting', 3])
    expect((await cached.embed(['three']))[0]).toEqual(first[1]![0])
  })

  it('outlives the process', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-embeddings-'))
    const text = 'ein langer Text '.repeat(40)
    const kept = await withLmdb(directory, async (backend) =>
      cachedEmbedder(new Counting(), backend).embedWindows([text, 'नमस्ते', '']),
    )
    const embedder = new Counting()
    const again = await withLmdb(directory, async (backend) =>
      cachedEmbedder(embedder, backend).embedWindows([text, 'नमस्ते', '']),
    )
    expect(again).toEqual(kept)
    expect(again[0]).toHaveLength(121)
    expect(embedder.calls).toEqual([])
    await rm(directory, { recursive: true })
  })

  it('keeps embedders apart', async () => {
    const backend = open()
    const [one, other] = [new Counting('a'), new Counting('b')]
    await cachedEmbedder(one, backend).embedWindows(['text'])
    await cachedEmbedder(other, backend).embedWindows(['text'])
    expect([one.calls.length, other.calls.length]).toEqual([1, 1])
  })

  it('shares what is being computed', async () => {
    const embedder = new Counting()
    let go = () => {}
    embedder.hold = new Promise((resolve) => {
      go = resolve
    })
    const cached = cachedEmbedder(embedder, open())
    const all = Array.from({ length: 20 }, () => cached.embedWindows(['a text']))
    go()
    const answers = await Promise.all(all)
    expect(embedder.calls).toEqual([['a text']])
    for (const answer of answers) expect(answer).toEqual(answers[0])
  })

  it('goes on for the others when one gives up, and stops when all have', async () => {
    const embedder = new Counting()
    let go = () => {}
    embedder.hold = new Promise((resolve) => {
      go = resolve
    })
    const cached = cachedEmbedder(embedder, open())
    const [first, second] = [new AbortController(), new AbortController()]
    const one = cached.embedWindows(['a'], { signal: first.signal })
    const other = cached.embedWindows(['a'], { signal: second.signal })
    while (embedder.signals.length === 0) await new Promise(setImmediate)
    first.abort(new Error('enough'))
    await expect(one).rejects.toThrow('enough')
    expect(embedder.signals[0]!.aborted).toBe(false)
    second.abort(new Error('me too'))
    await expect(other).rejects.toThrow('me too')
    expect(embedder.signals[0]!.aborted).toBe(true)
    go()
    // What was given up is not what the next one gets.
    expect(await cached.embedWindows(['a'])).toHaveLength(1)
    expect(embedder.calls.length).toBe(2)
  })

  it('remembers no failure', async () => {
    const embedder = new Counting()
    const cached = cachedEmbedder(embedder, open())
    embedder.hold = Promise.reject(new Error('no model'))
    await expect(cached.embedWindows(['a'])).rejects.toThrow('no model')
    embedder.hold = Promise.resolve()
    expect(await cached.embedWindows(['a'])).toHaveLength(1)
  })

  it('stores nothing that is faulty', async () => {
    const backend = open()
    const broken: Embedder = {
      id: 'broken',
      dimensions: 2,
      embed: async () => [Float32Array.of(NaN, 1)],
    }
    await expect(cachedEmbedder(broken, backend).embed(['a'])).rejects.toThrow(
      expect.objectContaining({ code: 'EMBEDDER_FAULTY' }),
    )
    for await (const row of backend.scan(embeddings)) expect(row).toBeUndefined()
  })

  it('says so when a row is not what it should be', async () => {
    const backend = open()
    const cached = cachedEmbedder(new Counting(), backend)
    await cached.embedWindows(['one two three'])
    const keys: Buffer[] = []
    for await (const { key } of backend.scan(embeddings)) keys.push(key)
    expect(keys).toHaveLength(3)
    await backend.run(function* (scope) {
      scope.remove({ space: embeddings, key: keys[2]! })
    })
    await expect(cached.embedWindows(['one two three'])).rejects.toThrow(
      expect.objectContaining({ code: 'CONTENT_CORRUPT' }),
    )
    await cached.forget(['one two three'])
    expect((await cached.embedWindows(['one two three']))[0]).toHaveLength(3)
    expect(() => embeddings.codec.decode(Buffer.from('20000000000000', 'hex'))).toThrow(
      /cannot be read/,
    )
  })

  it('forgets texts, all of its own, or all of others', async () => {
    const backend = open()
    const [own, other] = [new Counting('a'), new Counting('b')]
    const cached = cachedEmbedder(own, backend)
    await cached.embedWindows(['one two', 'three'])
    await cachedEmbedder(other, backend).embedWindows(['one two'])
    await cached.forget(['one two'])
    await cached.embedWindows(['one two', 'three'])
    expect(own.calls.at(-1)).toEqual(['one two'])
    expect(await cached.clear({ others: true })).toBe(2)
    expect(await cached.clear()).toBe(3)
    for await (const row of backend.scan(embeddings)) expect(row).toBeUndefined()
  })

  it('is stored as it is written down', () => {
    const vector = Float32Array.of(1, -2.5)
    expect(encodeVector(vector).toString('hex')).toBe('0000803f000020c0')
    expect(decodeVector(encodeVector(vector))).toEqual(vector)
    const row = embeddings.codec.encode({ windows: 3, vector })
    expect(Buffer.from(row).toString('hex')).toBe('1000030000803f000020c0')
    expect(embeddings.codec.decode(row)).toEqual({ windows: 3, vector })
  })
})

async function withLmdb<T>(directory: string, work: (backend: Backend) => Promise<T>): Promise<T> {
  const backend = await openLmdb(directory, { spaces: semanticSpaces })
  try {
    return await work(backend)
  } finally {
    await backend.close()
  }
}
