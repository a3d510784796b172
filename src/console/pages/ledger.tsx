/** Which documents were processed, when, in which run, with which outcome. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { ApiProblem, getJson, queryText } from '../api/client.ts'
import type { LedgerLine, LedgerPage as Page, LineStatus } from '../api/types.ts'
import { Empty, PageHead, Panel, ProblemNote, Status, Table } from '../parts/basics.tsx'
import { DocumentLink } from '../parts/document.tsx'
import { countOf, moment } from '../parts/format.ts'
import { useSettled } from '../state/loaded.ts'
import { useObserved } from '../state/observable.ts'
import { goTo, hrefOf, place } from '../state/place.ts'
import { NO_RUNS } from './runs.tsx'

const LINES = 100
const STATUSES: readonly LineStatus[] = [
  'accepted',
  'duplicate',
  'superseded',
  'rejected',
  'failed',
  'claimed',
]
const FILTERS = ['source', 'run', 'status', 'since', 'until'] as const
type Filter = Readonly<Record<(typeof FILTERS)[number], string>>

export function LedgerPage(): JSX.Element {
  const { query } = useObserved(place)
  const of = (name: string) => query.get(name) ?? ''
  const filter: Filter = {
    source: of('source'),
    run: of('run'),
    status: of('status'),
    since: of('since'),
    until: of('until'),
  }
  const change = (changed: Partial<Filter>) =>
    goTo(hrefOf('ledger', [], { ...filter, ...changed }), { replaces: true })
  return (
    <>
      <PageHead title="Ledger" about="Every document that was processed, and its outcome." />
      <Panel>
        <Filters of={filter} onChange={change} />
        <Lines filter={filter} />
      </Panel>
    </>
  )
}

function Filters({
  of: filter,
  onChange,
}: {
  readonly of: Filter
  readonly onChange: (changed: Partial<Filter>) => void
}): JSX.Element {
  // Lines of a source and lines of a run are in two lists: one of them at a time.
  const field = (name: keyof Filter, label: string, type: string, others: Partial<Filter> = {}) => (
    <label class="field">
      <span>{label}</span>
      <input
        type={type}
        value={filter[name]}
        spellcheck={false}
        onInput={({ currentTarget }) => onChange({ ...others, [name]: currentTarget.value })}
      />
    </label>
  )
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {field('source', 'Source', 'search', { run: '' })}
      {field('run', 'Run', 'search', { source: '' })}
      <label class="field">
        <span>Status</span>
        <select
          value={filter.status}
          onChange={({ currentTarget }) => onChange({ status: currentTarget.value })}
        >
          <option value="">any</option>
          {STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      {field('since', 'Since', 'datetime-local')}
      {field('until', 'Until', 'datetime-local')}
    </form>
  )
}

interface Listed {
  readonly lines: readonly LedgerLine[]
  readonly next?: string | undefined
  readonly problem?: ApiProblem
}

function pathOf({ since, until, ...rest }: Filter, after: string | undefined): string {
  const time = (text: string) => (text === '' ? '' : new Date(text).toISOString())
  return `ledger${queryText({ ...rest, since: time(since), until: time(until), after, limit: LINES })}`
}

function Lines({ filter }: { readonly filter: Filter }): JSX.Element {
  const [listed, setListed] = useState<Listed>()
  const asked = useSettled(JSON.stringify(filter), 200)
  const list = async (before: readonly LedgerLine[], after?: string, signal?: AbortSignal) => {
    try {
      const { lines, next } = await getJson<Page>(pathOf(filter, after), signal)
      setListed({ lines: [...before, ...lines], next })
    } catch (error) {
      if (!signal?.aborted) setListed({ lines: before, problem: ApiProblem.of(error) })
    }
  }
  useEffect(() => {
    const controller = new AbortController()
    void list([], undefined, controller.signal)
    return () => controller.abort()
  }, [asked])
  if (!listed) return <div class="loading" role="status" aria-label="Loading" />
  const { lines, next, problem } = listed
  if (problem) return <ProblemNote problem={problem} missing={NO_RUNS} />
  if (lines.length === 0) return <Empty title="No lines">No document fits this filter.</Empty>
  return (
    <>
      <p class="soft" role="status">
        {countOf(lines.length, 'line')}
        {next !== undefined && ', and more'}
      </p>
      <LineTable of={lines} />
      {next !== undefined && (
        <button type="button" onClick={() => void list(lines, next)}>
          More lines
        </button>
      )}
    </>
  )
}

function LineTable({ of }: { readonly of: readonly LedgerLine[] }): JSX.Element {
  return (
    <Table
      label="Lines of the ledger"
      heads={['Document', 'Status', 'Of', 'Source', 'Run', 'When']}
    >
      {of.map((line, at) => (
        <tr key={at}>
          <td>
            <DocumentLink of={line} />
          </td>
          <td>
            <Status of={line.status} />
          </td>
          <td>{line.of === undefined ? '' : <DocumentLink of={{ id: line.of }} />}</td>
          <td>
            <bdi>{line.source ?? ''}</bdi>
          </td>
          <td class="mono">
            {line.run !== undefined && (
              <a href={hrefOf('runs', [encodeURIComponent(line.run)])}>{line.run}</a>
            )}
          </td>
          <td class="nowrap soft">{moment(line.at)}</td>
        </tr>
      ))}
    </Table>
  )
}
