/** Against the real SDK, with its exporters in memory. */

import { AsyncLocalStorage } from 'node:async_hooks'

import { type Context, context, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { describe, expect, it, onTestFinished } from 'vitest'

import { openResolver, openStore } from '../index.ts'
import { openTelemetryMetrics, openTelemetryTracer } from './index.ts'

function metering() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000_000 })
  const provider = new MeterProvider({ readers: [reader] })
  onTestFinished(() => provider.shutdown())
  const collect = async () => {
    await reader.forceFlush()
    const [exported] = exporter.getMetrics().slice(-1)
    const all = exported?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? []
    return new Map<string, MetricData>(all.map((data) => [data.descriptor.name, data]))
  }
  return { meter: provider.getMeter('prestige'), collect }
}

function tracing() {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  onTestFinished(() => provider.shutdown())
  return { tracer: provider.getTracer('prestige'), spans: () => exporter.getFinishedSpans() }
}

describe('metrics for OpenTelemetry', () => {
  it('are counters, histograms and gauges, with units, descriptions and values', async () => {
    const { meter, collect } = metering()
    const metrics = openTelemetryMetrics(meter, { attributes: { store: 'main' } })
    const store = await openStore('memory:', { metrics, canonical: 'unicode' })
    await store.put('a', 'value')
    await store.put('b', 'value')
    await store.get('a')
    await store.delete('none')
    await store.stats()
    await store.close()
    const found = await collect()
    const shape = (name: string) => {
      const { descriptor, dataPointType, dataPoints } = found.get(name) ?? {}
      return [dataPointType, descriptor?.unit, dataPoints?.[0]?.value, dataPoints?.[0]?.attributes]
    }
    const attributes = { store: 'main' }
    expect(shape('prestige.put.calls')).toEqual([DataPointType.SUM, '', 2, attributes])
    expect(shape('prestige.put.dedup_hit_total')).toEqual([DataPointType.SUM, '', 1, attributes])
    expect(shape('prestige.delete.not_found_total')).toEqual([DataPointType.SUM, '', 1, attributes])
    expect(shape('prestige.store.total_bytes')).toEqual([DataPointType.GAUGE, 'By', 5, attributes])
    expect(shape('prestige.put.value_bytes')).toMatchObject([
      DataPointType.HISTOGRAM,
      'By',
      { count: 2, sum: 10, buckets: { boundaries: expect.arrayContaining([64, 256, 1024]) } },
      attributes,
    ])
    expect(shape('prestige.get.latency_us').slice(0, 2)).toEqual([DataPointType.HISTOGRAM, 'us'])
    const undescribed = [...found.values()].filter(({ descriptor: { name, description } }) =>
      description.startsWith(name),
    )
    expect(undescribed).toEqual([])
  })

  it('have a label of the source as an attribute, and seconds for seconds', async () => {
    const { meter, collect } = metering()
    const resolver = await openResolver('memory:', { metrics: openTelemetryMetrics(meter) })
    await resolver.resolve('default', 'one text of several words')
    await resolver.close()
    const found = await collect()
    const [point] = found.get('lsh.dedup.upsert.total')?.dataPoints ?? []
    expect(point).toMatchObject({ value: 1, attributes: { result: 'new' } })
    expect(found.get('lsh.dedup.upsert.duration')?.descriptor.unit).toBe('s')
  })
})

describe('spans for OpenTelemetry', () => {
  it('have attributes, events, and an error as status only if the operation failed', async () => {
    const { tracer, spans } = tracing()
    const store = await openStore('memory:', { tracer: openTelemetryTracer(tracer) })
    await store.put('key', 'value')
    await store.put('key', 'other')
    await store.get('none')
    await store.put('', 'no key').catch(() => {})
    await store.close()
    expect(spans().map(({ name, status }) => [name, status])).toEqual([
      ['prestige.Put', { code: SpanStatusCode.UNSET }],
      ['prestige.Put', { code: SpanStatusCode.UNSET }],
      ['prestige.Get', { code: SpanStatusCode.UNSET }],
      ['prestige.Put', { code: SpanStatusCode.ERROR, message: 'INVALID_KEY' }],
    ])
    const [first, second, get] = spans()
    expect(first?.attributes).toMatchObject({ key_bytes: 3, dedup_hit: false, status: 'ok' })
    expect(second?.events.map(({ name }) => name)).toEqual(['gc.delete_object'])
    expect(get?.attributes).toMatchObject({ status: 'not_found' })
    expect(first?.ended).toBe(true)
  })

  it('are children of the span that is active, also after waiting', async () => {
    const storage = new AsyncLocalStorage<Context>()
    const manager = {
      active: () => storage.getStore() ?? ROOT_CONTEXT,
      with: (active: Context, work: (...args: never) => unknown, self?: unknown, ...args: never) =>
        storage.run(active, () => work.apply(self, args)),
      bind: (_: Context, target: unknown) => target,
      enable: () => manager,
      disable: () => manager,
    }
    // safe: the interface is generic in what `with` and `bind` are given, and this one treats all alike
    context.setGlobalContextManager(
      manager as Parameters<typeof context.setGlobalContextManager>[0],
    )
    onTestFinished(() => context.disable())
    const { tracer, spans } = tracing()
    await using store = await openStore('memory:', { tracer: openTelemetryTracer(tracer) })
    const parent = tracer.startSpan('request')
    await context.with(trace.setSpan(context.active(), parent), async () => {
      await store.put('a', 'value')
      await store.get('a')
    })
    parent.end()
    const id = parent.spanContext().spanId
    expect(spans().map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId])).toEqual(
      [
        ['prestige.Put', id],
        ['prestige.Get', id],
        ['request', undefined],
      ],
    )
  })
})
