import { afterEach, describe, expect, it, vi } from 'vitest'

import { SimulatedWorld } from '../backends/simulated/backend.ts'
import { type MetricsSink, openStore, type Tracer } from '../index.ts'

class Recorder implements MetricsSink {
  readonly counters = new Map<string, number>()
  readonly histograms = new Map<string, number[]>()

  counter(name: string, delta: number): void {
    this.counters.set(name, (this.counters.get(name) ?? 0) + delta)
  }

  histogram(name: string, value: number): void {
    this.histograms.set(name, [...(this.histograms.get(name) ?? []), value])
  }

  readonly gauges: Record<string, number> = {}

  gauge(name: string, value: number): void {
    this.gauges[name] = value
  }
}

interface Span {
  readonly name: string
  readonly attributes: Record<string, unknown>
  readonly events: string[]
  ended: number
}

function recordingTracer(spans: Span[]): Tracer {
  return {
    startSpan(name) {
      const span: Span = { name, attributes: {}, events: [], ended: 0 }
      spans.push(span)
      return {
        setAttribute: (attribute, value) => (span.attributes[attribute] = value),
        addEvent: (event) => span.events.push(event),
        end: () => span.ended++,
      }
    },
  }
}

afterEach(() => vi.restoreAllMocks())

describe('metrics', () => {
  it('have the names and the numbers of the original', async () => {
    const metrics = new Recorder()
    await using store = await openStore('memory:', { metrics, canonical: 'unicode' })
    await store.put('a', 'value')
    await store.put('b', 'value')
    await store.put('b', 'value')
    await store.put('b', 'other')
    await store.get('a')
    await store.get('missing')
    await store.delete('b')
    await store.delete('b')
    await store.put('', 'no key').catch(() => {})
    expect(Object.fromEntries(metrics.counters)).toEqual({
      'prestige.put.calls': 5,
      'prestige.put.ok_total': 4,
      'prestige.put.error_total': 1,
      'prestige.put.dedup_hit_total': 2,
      'prestige.put.dedup_miss_total': 2,
      'prestige.put.object_created_total': 2,
      'prestige.put.noop_overwrite_total': 1,
      'prestige.get.calls': 2,
      'prestige.get.ok_total': 1,
      'prestige.get.not_found_total': 1,
      'prestige.delete.calls': 2,
      'prestige.delete.ok_total': 1,
      'prestige.delete.not_found_total': 1,
      'prestige.gc.deleted_objects_total': 1,
    })
    const histograms = [...metrics.histograms.keys()].toSorted()
    expect(histograms).toEqual([
      'prestige.delete.attempts',
      'prestige.delete.commit_us',
      'prestige.delete.latency_us',
      'prestige.get.latency_us',
      'prestige.get.object_lookup_us',
      'prestige.get.user_lookup_us',
      'prestige.get.value_bytes',
      'prestige.put.attempts',
      'prestige.put.commit_us',
      'prestige.put.latency_us',
      'prestige.put.normalize_us',
      'prestige.put.sha256_us',
      'prestige.put.value_bytes',
      'prestige.txn.wait_us',
    ])
    expect(metrics.histograms.get('prestige.put.value_bytes')).toEqual([5, 5, 5, 5])
  })

  it('are the same of a stream, whether it ends or fails', async () => {
    const metrics = new Recorder()
    await using store = await openStore('memory:', { metrics })
    const stream = async function* (fails: boolean) {
      for (let at = 0; at < 3; at++) yield Buffer.alloc(100_000, `${at} `)
      if (fails) throw new Error('cut off')
    }
    await store.put('a', stream(false))
    await store.put('b', stream(false))
    await expect(store.put('c', stream(true))).rejects.toThrow('cut off')
    expect(Object.fromEntries(metrics.counters)).toMatchObject({
      'prestige.put.ok_total': 2,
      'prestige.put.error_total': 1,
      'prestige.put.dedup_hit_total': 1,
      'prestige.put.dedup_miss_total': 1,
    })
    expect(metrics.histograms.get('prestige.put.value_bytes')).toEqual([300_000, 300_000])
    expect(metrics.histograms.has('prestige.put.sha256_us')).toBe(false)
  })

  it('count expired keys, and what collect and close have done', async () => {
    const metrics = new Recorder()
    let now = 1000
    const store = await openStore('memory:', { metrics, clock: () => now })
    await store.put('a', 'value', { ttlMs: 10 })
    now += 11
    expect(await store.get('a')).toBeUndefined()
    await store.get('never there')
    await store.collect()
    await store.stats()
    await store.close()
    expect(Object.fromEntries(metrics.counters)).toMatchObject({
      'prestige.get.expired_total': 1,
      'prestige.get.not_found_total': 2,
      'prestige.sweep.deleted_total': 1,
      'prestige.sweep.expired_total': 1,
      'prestige.close.ok_total': 1,
    })
    expect(metrics.gauges).toEqual({
      'prestige.store.total_keys': 0,
      'prestige.store.total_objects': 0,
      'prestige.store.total_bytes': 0,
      'prestige.store.dedup_ratio': 1,
    })
  })

  it('say when a store could not be brought to the disk', async () => {
    const metrics = new Recorder()
    const backend = new SimulatedWorld(1).open('w')
    const store = await openStore(backend, { metrics })
    vi.spyOn(backend, 'close').mockRejectedValueOnce(new Error('no space left'))
    await expect(store.close()).rejects.toThrow('no space left')
    expect(metrics.counters.get('prestige.close.flush_error_total')).toBe(1)
    expect(metrics.counters.has('prestige.close.ok_total')).toBe(false)
  })

  it('count the retries of an engine that has conflicts', async () => {
    const metrics = new Recorder()
    const world = new SimulatedWorld(3)
    await using store = await openStore(world.open('w'), { metrics })
    world.faults = { conflict: 0.5, lostReply: 0, failure: 0 }
    for (let at = 0; at < 20; at++) await store.put(`k${at}`, 'value')
    expect(metrics.counters.get('prestige.put.retry_total')).toBeGreaterThan(3)
    expect(metrics.counters.get('prestige.put.ok_total')).toBe(20)
  })

  it('of a sink that throws never turn a done put into a failed one', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const broken = () => {
      throw new Error('no space on the dashboard')
    }
    const metrics = { counter: broken, histogram: broken, gauge: broken }
    await using store = await openStore('memory:', { metrics })
    expect((await store.put('a', 'v')).content).toBe('new')
    expect(await store.getText('a')).toBe('v')
    expect(warn).toHaveBeenCalledTimes(1)
  })

  it('of a sink that rejects neither end the process nor fail a put, and are warned about once', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const broken = async () => {
      throw new Error('no space on the dashboard')
    }
    const metrics = { counter: broken, histogram: broken, gauge: broken }
    const tracer = { startSpan: () => ({ setAttribute: broken, addEvent: broken, end: broken }) }
    const store = await openStore('memory:', { metrics, tracer })
    expect((await store.put('a', 'v')).content).toBe('new')
    await store.stats()
    await store.close()
    await new Promise((resolve) => {
      setTimeout(resolve, 10)
    })
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
    expect(warn).toHaveBeenCalledTimes(1)
  })

  it('of a sink that hangs are not waited for', async () => {
    const hung = () => new Promise<never>(() => {})
    const metrics = { counter: hung, histogram: hung, gauge: hung }
    const store = await openStore('memory:', { metrics })
    expect((await store.put('a', 'v')).content).toBe('new')
    await store.close()
  })

  it('reach a sink one by one: the failure of one keeps no other back', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const metrics = new Recorder()
    const counter = () => {
      throw new Error('counters are broken')
    }
    await using store = await openStore('memory:', {
      metrics: { counter, histogram: metrics.histogram.bind(metrics), gauge: () => {} },
    })
    await store.put('a', 'v')
    expect(metrics.histograms.has('prestige.put.latency_us')).toBe(true)
  })
})

describe('the time of a commit', () => {
  it('does not include embedding', async () => {
    const metrics = new Recorder()
    const embedder = {
      id: 'slow',
      dimensions: 2,
      embed: async (texts: readonly string[]) => {
        await new Promise((resolve) => setTimeout(resolve, 150))
        return texts.map(() => Float32Array.of(1, 0))
      },
    }
    const semantic = { embedder, threshold: 0.9 }
    await using store = await openStore('memory:', { dedup: 'semantic', semantic, metrics })
    await store.put('a', 'the quick brown fox')
    const [commitUs = Infinity] = metrics.histograms.get('prestige.put.commit_us') ?? []
    const [latencyUs = 0] = metrics.histograms.get('prestige.put.latency_us') ?? []
    expect(latencyUs).toBeGreaterThan(140_000)
    expect(commitUs).toBeLessThan(100_000)
  })
})

describe('traces', () => {
  it('say not_found of a key that is not there, and have their attributes if they fail', async () => {
    const spans: Span[] = []
    await using store = await openStore('memory:', {
      canonical: 'json',
      tracer: recordingTracer(spans),
    })
    await store.get('none')
    await store.delete('none')
    await store.put('key', 'not json').catch(() => {})
    expect(spans.map(({ attributes }) => attributes)).toMatchObject([
      { status: 'not_found', key_bytes: 4 },
      { status: 'not_found', key_bytes: 4 },
      { status: 'UNREADABLE_VALUE', key_bytes: 3, value_bytes: 8 },
    ])
    await store.put('key', '{ "a": 1 }')
    expect(spans[3]?.attributes).toMatchObject({ value_bytes: 10, normalized_bytes: 7 })
  })

  it('are one ended span an operation, with what happened in it', async () => {
    const spans: Span[] = []
    await using store = await openStore('memory:', { tracer: recordingTracer(spans) })
    await store.put('key', 'value')
    await store.put('key', 'other')
    await store.get('key')
    await store.delete('key')
    await store.put('', 'no key').catch(() => {})
    expect(spans.map(({ name, ended }) => [name, ended])).toEqual([
      ['prestige.Put', 1],
      ['prestige.Put', 1],
      ['prestige.Get', 1],
      ['prestige.Delete', 1],
      ['prestige.Put', 1],
    ])
    expect(spans[0]?.attributes).toMatchObject({
      key_bytes: 3,
      value_bytes: 5,
      attempts: 1,
      dedup_hit: false,
      had_old: false,
      noop_overwrite: false,
      status: 'ok',
    })
    expect(spans[1]?.events).toEqual(['gc.delete_object'])
    expect(spans[4]?.attributes['status']).toBe('INVALID_KEY')
  })
})
