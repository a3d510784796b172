/**
 * A metrics sink that keeps what it is given, and renders it in the text format of Prometheus, version 0.0.4. Dots of
 * names become underscores, and names of counters end with `_total`.
 */

import { PrestigeError } from '../platform/errors.ts'
import type { MetricLabels, MetricsSink } from '../platform/telemetry.ts'
import { infoOf } from './catalogue.ts'

export interface PrometheusOptions {
  /** Labels of every series, such as the name of the store. */
  readonly labels?: MetricLabels | undefined
  /** Upper bounds of the buckets of histograms, by name (`prestige.put.latency_us`). Default: by unit. */
  readonly buckets?: Readonly<Record<string, readonly number[]>> | undefined
}

export interface PrometheusSink extends MetricsSink {
  /** The value of `Content-Type` for what `render` returns. */
  readonly contentType: string
  /** Everything measured so far, in the text format. */
  render(): string
}

type Kind = 'counter' | 'gauge' | 'histogram'

/** Numbers of one set of labels. */
interface Series {
  /** As rendered, without braces. */
  readonly labels: string
  /** The value, or the sum of a histogram. */
  value: number
  count: number
  /** How many values were in each bucket alone; empty unless of a histogram. */
  readonly buckets: number[]
}

const NO_LABELS: MetricLabels = Object.freeze({})

class Family {
  readonly kind: Kind
  readonly name: string
  readonly #help: string
  readonly #bounds: readonly number[]
  readonly #plain: Series
  readonly #series = new Map<string, Series>()
  readonly #byObject = new WeakMap<MetricLabels, Series>()
  readonly #common: MetricLabels

  constructor(
    kind: Kind,
    source: string,
    { common, bounds }: { common: MetricLabels; bounds: readonly number[] | undefined },
  ) {
    const info = infoOf(source)
    this.kind = kind
    this.name = rendered(kind, source)
    this.#help = info.description
    this.#bounds = kind === 'histogram' ? (bounds ?? info.buckets) : []
    this.#common = common
    this.#plain = this.#begin(common)
  }

  /** Callers that give the same object again save the making of its text. */
  of(labels: MetricLabels | undefined): Series {
    const given = labels ?? NO_LABELS
    let series = this.#byObject.get(given)
    if (!series) {
      series = this.#named(labels)
      if (labels === undefined || Object.isFrozen(labels)) this.#byObject.set(given, series)
    }
    return series
  }

  #named(labels: MetricLabels | undefined): Series {
    const all = labels && { ...this.#common, ...labels }
    const key = all ? labelsText(all) : this.#plain.labels
    let series = this.#series.get(key)
    if (!series) {
      series = all ? this.#begin(all) : this.#plain
      this.#series.set(key, series)
    }
    return series
  }

  observe(value: number, series: Series): void {
    series.value += value
    series.count++
    const at = this.#bounds.findIndex((bound) => value <= bound)
    if (at >= 0) series.buckets[at] = (series.buckets[at] ?? 0) + 1
  }

  *lines(): Generator<string> {
    const { name, kind } = this
    yield `# HELP ${name} ${this.#help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}`
    yield `# TYPE ${name} ${kind}`
    for (const [, series] of [...this.#series].toSorted(([one], [other]) => (one < other ? -1 : 1)))
      if (kind === 'histogram') yield* this.#histogramLines(series)
      else yield line(name, series.labels, series.value)
  }

  *#histogramLines({ labels, value, count, buckets }: Series): Generator<string> {
    const { name } = this
    const before = labels === '' ? '' : `${labels},`
    let below = 0
    for (const [at, bound] of this.#bounds.entries()) {
      below += buckets[at] ?? 0
      yield line(`${name}_bucket`, `${before}le="${numberText(bound)}"`, below)
    }
    yield line(`${name}_bucket`, `${before}le="+Inf"`, count)
    yield line(`${name}_sum`, labels, value)
    yield line(`${name}_count`, labels, count)
  }

  #begin(labels: MetricLabels): Series {
    const buckets = this.#bounds.map(() => 0)
    return { labels: labelsText(labels), value: 0, count: 0, buckets }
  }
}

class Prometheus implements PrometheusSink {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8'
  readonly #options: PrometheusOptions
  /** By the name it is sent under, which is one lookup for each measurement. */
  readonly #families = new Map<string, Family>()
  /** By the name it is rendered under, where two must not meet. */
  readonly #byName = new Map<string, Family>()

  constructor(options: PrometheusOptions) {
    this.#options = options
  }

  counter(name: string, delta: number, labels?: MetricLabels): void {
    if (!(delta >= 0)) throw new RangeError(`The counter ${name} cannot be increased by ${delta}.`)
    this.#family('counter', name).of(labels).value += delta
  }

  histogram(name: string, value: number, labels?: MetricLabels): void {
    const family = this.#family('histogram', name)
    family.observe(value, family.of(labels))
  }

  gauge(name: string, value: number, labels?: MetricLabels): void {
    this.#family('gauge', name).of(labels).value = value
  }

  render(): string {
    const families = [...this.#byName.values()]
    families.sort((one, other) => (one.name < other.name ? -1 : 1))
    return families.map((family) => `${[...family.lines()].join('\n')}\n`).join('')
  }

  #family(kind: Kind, source: string): Family {
    const known = this.#families.get(source) ?? this.#byName.get(rendered(kind, source))
    const family = known ?? this.#begin(kind, source)
    if (family.kind !== kind)
      throw new TypeError(`${source} is a ${family.kind}; it cannot be a ${kind} as well.`)
    if (!this.#families.has(source)) this.#families.set(source, family)
    return family
  }

  #begin(kind: Kind, source: string): Family {
    const { labels = {}, buckets = {} } = this.#options
    const family = new Family(kind, source, { common: labels, bounds: buckets[source] })
    this.#byName.set(family.name, family)
    return family
  }
}

function rendered(kind: Kind, source: string): string {
  const name = source.replace(/[^a-zA-Z0-9_:]/g, '_').replace(/^(?=\d)/, '_')
  return kind === 'counter' && !name.endsWith('_total') ? `${name}_total` : name
}

/** In the order of names, so that one set of labels is one series. */
function labelsText(labels: MetricLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const plain = name.replace(/[^a-zA-Z0-9_]/g, '_').replace(/^(?=\d)/, '_')
    const escaped = value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
    return `${plain}="${escaped}"`
  })
  return pairs.toSorted().join(',')
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${numberText(value)}`
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

/** Keeps measurements in memory; `render()` is what an endpoint for Prometheus returns. One sink may serve all. */
export function prometheusSink(options: PrometheusOptions = {}): PrometheusSink {
  for (const [name, bounds] of Object.entries(options.buckets ?? {})) {
    const ascending = bounds.every((bound, at) => at === 0 || bound > (bounds[at - 1] ?? bound))
    if (ascending && bounds.length > 0 && bounds.every(Number.isFinite)) continue
    const message = `buckets of ${name} must be finite numbers, each larger than the one before.`
    throw new PrestigeError('INVALID_OPTIONS', message)
  }
  return new Prometheus(options)
}
