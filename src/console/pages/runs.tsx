/** Runs of the corpus job: those there were, those under way, and new ones. */

import type { JSX } from 'preact'

import { getJson } from '../api/client.ts'
import type { Job, RunLine, Runs } from '../api/types.ts'
import { Empty, PageHead, Panel, Shown, Status, Table } from '../parts/basics.tsx'
import { Shares } from '../parts/charts.tsx'
import { count, duration, moment } from '../parts/format.ts'
import { Icon } from '../parts/icons.tsx'
import { JobProgress } from '../parts/job-progress.tsx'
import { NewRun } from '../parts/new-run.tsx'
import { useLoaded } from '../state/loaded.ts'
import { useObserved } from '../state/observable.ts'
import { hrefOf, place } from '../state/place.ts'
import { RunPage } from './run.tsx'
import { WhyPage } from './why.tsx'

export const NO_RUNS =
  'Runs are shown where the server was started with --jobs, or on the output directory of prestige dedupe.'

export function RunsPage(): JSX.Element {
  const { rest } = useObserved(place)
  const [first, second] = rest
  if (first === 'why' && second !== undefined) return <WhyPage id={second} />
  if (first) return <RunPage run={first} />
  return <RunList />
}

function RunList(): JSX.Element {
  const loaded = useLoaded((signal) => getJson<Runs>('runs', signal), [])
  return (
    <>
      <PageHead title="Runs" about="What was kept, linked and dropped, run by run.">
        <button type="button" onClick={loaded.reload}>
          <Icon name="refresh" /> Refresh
        </button>
      </PageHead>
      <Shown loaded={loaded} missing={NO_RUNS}>
        {({ runs, jobs }) => (
          <>
            {jobs.filter(isWorthShowing).map((job) => (
              <JobProgress key={job.job} of={job} onEnd={loaded.reload} />
            ))}
            <Panel title="All runs" note="the newest first">
              {runs.length === 0 ? (
                <Empty title="No runs yet">Start one below.</Empty>
              ) : (
                <RunTable of={runs.toReversed()} jobs={jobs} />
              )}
            </Panel>
            <NewRun onStart={loaded.reload} />
          </>
        )}
      </Shown>
    </>
  )
}

/** What is done is in the list of runs. */
function isWorthShowing({ status }: Job): boolean {
  return status !== 'done' && status !== 'stopped'
}

/** A run says how far it has come, and not that nobody works on it any more. */
function statusOf({ id, status, finishedAt }: RunLine, jobs: readonly Job[]): string {
  const isEnded = finishedAt !== undefined || status === 'undone'
  const last = isEnded ? undefined : jobs.findLast(({ run }) => run === id)
  return last?.status === 'stopped' || last?.status === 'failed' ? last.status : status
}

function RunTable({
  of,
  jobs,
}: {
  readonly of: readonly RunLine[]
  readonly jobs: readonly Job[]
}): JSX.Element {
  const heads = [
    'Run',
    'Status',
    'Started',
    { number: 'Took' },
    { number: 'Documents' },
    { number: 'Kept' },
    { number: 'Linked' },
    { number: 'Dropped' },
    'Shares',
  ]
  return (
    <Table label="Runs" heads={heads}>
      {of.map((run) => (
        <tr key={run.id}>
          <td>
            <a class="mono nowrap" href={hrefOf('runs', [encodeURIComponent(run.id)])}>
              {run.id}
            </a>
          </td>
          <td>
            <Status of={statusOf(run, jobs)} />
          </td>
          <td class="nowrap">{moment(run.startedAt)}</td>
          <td class="number">{tookOf(run)}</td>
          <Outcomes of={run.documents} />
        </tr>
      ))}
    </Table>
  )
}

function tookOf({ startedAt, finishedAt }: RunLine): string {
  return finishedAt === undefined ? '–' : duration(Date.parse(finishedAt) - Date.parse(startedAt))
}

function Outcomes({ of }: { readonly of: RunLine['documents'] }): JSX.Element {
  if (!of)
    return (
      <td colSpan={5} class="soft">
        no figures
      </td>
    )
  return (
    <>
      <td class="number">{count(of.in)}</td>
      <td class="number">{count(of.kept)}</td>
      <td class="number">{count(of.linked)}</td>
      <td class="number">{count(of.dropped)}</td>
      <td class="wide">
        <Shares
          label="Documents"
          parts={[
            { kind: 'kept', count: of.kept },
            { kind: 'linked', count: of.linked },
            { kind: 'dropped', count: of.dropped },
          ]}
        />
      </td>
    </>
  )
}
