/** How much is kept, how much that saves, and what the server does right now. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { call, getJson } from '../api/client.ts'
import { type RouteTimes, routeTimes } from '../api/metrics.ts'
import type { AdminStats, Counts, Stored } from '../api/types.ts'
import { Empty, Figures, PageHead, Panel, Shown, Table } from '../parts/basics.tsx'
import { Growth, type Point } from '../parts/charts.tsx'
import { count, countOf, duration, milliseconds, size } from '../parts/format.ts'
import { Icon } from '../parts/icons.tsx'
import { knownNamespaces } from '../parts/namespace.tsx'
import { type Loaded, useLoaded, useRepeated } from '../state/loaded.ts'
import { namespace } from '../state/session.ts'

const EVERY_MS = 2000
const SAMPLES_MAX = 300

interface Sample extends Counts {
  readonly at: number
  readonly requests: number
  readonly routes: readonly RouteTimes[]
}

/** Kept while other pages are looked at. */
const samplesOf = new Map<string, Sample[]>()

export function OverviewPage(): JSX.Element {
  const samples = useSamples()
  // It may read a whole table: once, and when somebody asks for it.
  const stats = useLoaded((signal) => getJson<AdminStats>('admin/stats', signal), [])
  useEffect(() => {
    const names = stats.value?.kinds.map((kind) => kind.namespace).filter(Boolean)
    if (names) knownNamespaces.set([...new Set(names)])
  }, [stats.value])
  const last = samples.at(-1)
  return (
    <>
      <PageHead title="Overview" about={aboutOf(stats)}>
        <button type="button" onClick={stats.reload}>
          <Icon name="refresh" /> Refresh
        </button>
      </PageHead>
      <Totals last={last} stats={stats.value} />
      <div class="columns">
        <Activity samples={samples} />
        <Requests routes={last?.routes ?? []} />
      </div>
      <Panel title="What is at this location">
        <Shown loaded={stats} missing="This server does not list what is at its location.">
          {({ kinds }) => <Kinds of={kinds} />}
        </Shown>
      </Panel>
      {stats.value && <Operations of={stats.value.operations} />}
    </>
  )
}

function aboutOf({ value }: Loaded<AdminStats>): string {
  if (!value) return 'What is kept, and what the server does.'
  return `${value.location} · prestige ${value.version} · up for ${duration(value.uptimeMs)}`
}

function useSamples(): readonly Sample[] {
  const name = namespace.value
  const [samples, setSamples] = useState<readonly Sample[]>(samplesOf.get(name) ?? [])
  const take = async (signal: AbortSignal) => {
    const [counts, metrics] = await Promise.all([
      getJson<Counts>('kv/_count', signal),
      call('/metrics', { signal }).then((response) => response.text()),
    ])
    const routes = routeTimes(metrics)
    const requests = routes.reduce((sum, { calls }) => sum + calls, 0)
    const next = [...(samplesOf.get(name) ?? []), { ...counts, at: Date.now(), requests, routes }]
    samplesOf.set(name, next.slice(-SAMPLES_MAX))
    setSamples(next.slice(-SAMPLES_MAX))
  }
  useRepeated(EVERY_MS, take, [name])
  return samples
}

function Totals({
  last,
  stats,
}: {
  readonly last: Sample | undefined
  readonly stats: AdminStats | undefined
}): JSX.Element {
  const store = stats?.store?.stats
  const keys = last?.keys ?? store?.keys
  const contents = last?.unique_values ?? store?.contents
  const links = (store?.near?.links ?? 0) + (store?.semantic?.links ?? 0)
  return (
    <Figures
      of={[
        { label: 'Keys', value: keys === undefined ? undefined : count(keys) },
        {
          label: 'Contents',
          value: contents === undefined ? undefined : count(contents),
          note: store && `${count(links)} linked to another`,
        },
        {
          label: 'Bytes saved',
          value: store && size(store.bytesSaved),
          note: store && `of ${size(store.valueBytes)} put`,
          tone: 'is-kept',
        },
        {
          label: 'Ratio',
          value: store && `${store.dedupRatio.toFixed(2)}×`,
          note: store && 'values to contents',
        },
        {
          label: 'Stored',
          value: store
            ? size(store.storedBytes)
            : last?.bytes === undefined
              ? undefined
              : size(last.bytes),
          note: store?.fileBytes === undefined ? undefined : `file: ${size(store.fileBytes)}`,
        },
      ]}
    />
  )
}

function Activity({ samples }: { readonly samples: readonly Sample[] }): JSX.Element {
  const of = (value: (sample: Sample) => number): Point[] =>
    samples.map((sample) => ({ x: sample.at, y: value(sample) }))
  const first = samples[0]
  const since = first ? `for ${duration(Date.now() - first.at)}` : undefined
  return (
    <Panel title="Live" note={since && `watched ${since}`}>
      <div class="growths">
        <Growth
          label="Requests a second"
          points={ratesOf(samples)}
          text={perSecond}
          tone="linked"
        />
        <Growth label="Keys" points={of(({ keys }) => keys)} text={count} tone="kept" />
        <Growth
          label="Contents"
          points={of(({ unique_values: contents }) => contents)}
          text={count}
          tone="other"
        />
        <Growth
          label="Bytes of contents"
          points={of(({ bytes = 0 }) => bytes)}
          text={size}
          tone="dropped"
        />
      </div>
    </Panel>
  )
}

function perSecond(rate: number): string {
  return rate.toFixed(rate < 10 ? 1 : 0)
}

function ratesOf(samples: readonly Sample[]): Point[] {
  return samples.slice(1).map((sample, at) => {
    const before = samples[at] ?? sample
    const seconds = Math.max(0.1, (sample.at - before.at) / 1000)
    return { x: sample.at, y: Math.max(0, sample.requests - before.requests) / seconds }
  })
}

function Requests({ routes }: { readonly routes: readonly RouteTimes[] }): JSX.Element {
  if (routes.length === 0)
    return (
      <Panel title="Requests" note="since the server started">
        <Empty title="No requests yet">They are counted here as they come.</Empty>
      </Panel>
    )
  return (
    <Panel title="Requests" note="since the server started">
      <Table
        label="Requests by route"
        heads={['Route', { number: 'Calls' }, { number: 'Half within' }, { number: '99 % within' }]}
      >
        {routes.slice(0, 8).map(({ route, calls, p50Ms, p99Ms }) => (
          <tr key={route}>
            <td class="mono">{route}</td>
            <td class="number">{count(calls)}</td>
            <td class="number">{milliseconds(p50Ms)}</td>
            <td class="number">{milliseconds(p99Ms)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

function Kinds({ of }: { readonly of: readonly Stored[] }): JSX.Element {
  if (of.length === 0) return <p class="soft">Nothing yet.</p>
  return (
    <Table label="What is at this location" heads={['Kind', 'Namespace', 'Holds']}>
      {of.map(({ kind, namespace: name, counts }) => (
        <tr key={`${kind} ${name}`}>
          <td>
            <span class="tag">{kind}</span>
          </td>
          <td class="mono">{name || '(default)'}</td>
          <td>
            {Object.entries(counts)
              .map(([what, amount]) => `${count(amount)} ${wordsOf(what)}`)
              .join(' · ')}
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** `contentBytes` → `content bytes`. */
function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

function Operations({ of }: { readonly of: AdminStats['operations'] }): JSX.Element {
  const all = Object.entries(of).toSorted(([, a], [, b]) => b.calls - a.calls)
  if (all.length === 0) return <></>
  return (
    <Panel title="Operations" note={countOf(all.length, 'kind')}>
      <Table
        label="Operations of the store"
        heads={[
          'Operation',
          { number: 'Calls' },
          { number: 'Half within' },
          { number: '99 % within' },
        ]}
      >
        {all.map(([name, { calls, p50Us, p99Us }]) => (
          <tr key={name}>
            <td class="mono">{name}</td>
            <td class="number">{count(calls)}</td>
            <td class="number">{milliseconds(p50Us / 1000)}</td>
            <td class="number">{milliseconds(p99Us / 1000)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
