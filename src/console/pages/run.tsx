/** One run: its figures, its clusters with their texts, its report; and taking it back. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

import { ApiProblem, call, getJson, postJson } from '../api/client.ts'
import type { DocumentCluster, Report, UndonePlan } from '../api/types.ts'
import {
  Dialog,
  Figures,
  PageHead,
  Panel,
  ProblemNote,
  Shown,
  Status,
  Table,
} from '../parts/basics.tsx'
import { Columns, Shares } from '../parts/charts.tsx'
import { DocumentLink } from '../parts/document.tsx'
import { count, countOf, moment, percent, size } from '../parts/format.ts'
import { useLoaded } from '../state/loaded.ts'
import { useObserved } from '../state/observable.ts'
import { goTo, hrefOf } from '../state/place.ts'
import { apiKey } from '../state/session.ts'

const CLUSTERS = 20

interface ClustersReply {
  readonly clusters: readonly DocumentCluster[]
}

/** `run` is percent-encoded. */
export function RunPage({ run }: { readonly run: string }): JSX.Element {
  const name = decodeURIComponent(run)
  const report = useLoaded((signal) => getJson<Report>(`runs/${run}`, signal), [run])
  const clusters = useLoaded(
    (signal) => getJson<ClustersReply>(`runs/${run}/clusters?limit=${CLUSTERS}`, signal),
    [run],
  )
  const [isUndoing, setUndoing] = useState(false)
  return (
    <>
      <a class="back" href={hrefOf('runs')}>
        ← All runs
      </a>
      <PageHead title={name} about={report.value ? aboutOf(report.value) : 'A run'}>
        <ReportLink run={run} />
        <button type="button" class="danger" onClick={() => setUndoing(true)}>
          Undo…
        </button>
      </PageHead>
      <Shown loaded={report}>{(value) => <RunFigures of={value} />}</Shown>
      <Panel title="Clusters" note="the largest first">
        <Shown loaded={clusters}>{(value) => <Clusters of={value.clusters} />}</Shown>
      </Panel>
      {isUndoing && <UndoDialog run={run} onClose={() => setUndoing(false)} />}
    </>
  )
}

function aboutOf({ run, inputs }: Report): string {
  return `${run.status} · started ${moment(run.startedAt)} · ${countOf(inputs.files, 'file')}, ${size(inputs.bytes)}`
}

/** The page of the report has its own policy. A link cannot send a key: with one, the page is saved as a file. */
function ReportLink({ run }: { readonly run: string }): JSX.Element {
  const key = useObserved(apiKey)
  const path = `/api/v1/runs/${run}/report`
  if (key === '')
    return (
      <a class="button" href={path} target="_blank" rel="noopener">
        Open the report
      </a>
    )
  return (
    <button type="button" onClick={() => void saveReport(path, `${decodeURIComponent(run)}.html`)}>
      Save the report
    </button>
  )
}

async function saveReport(path: string, name: string): Promise<void> {
  const address = URL.createObjectURL(await (await call(path)).blob())
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 1000)
}

function RunFigures({ of: report }: { readonly of: Report }): JSX.Element {
  const { documents, bytes, duplicationRate, clusters } = report
  return (
    <>
      <Figures
        of={[
          {
            label: 'Documents',
            value: count(documents.in),
            note: `${count(documents.rejected)} rejected`,
          },
          { label: 'Kept', value: count(documents.kept), tone: 'is-kept' },
          {
            label: 'Linked',
            value: count(documents.linked),
            note: 'kept, with a link',
            tone: 'is-linked',
          },
          {
            label: 'Dropped',
            value: count(documents.dropped),
            note: `${percent(duplicationRate)} of all`,
            tone: 'is-dropped',
          },
          { label: 'Bytes saved', value: size(bytes.saved), note: `of ${size(bytes.in)}` },
          { label: 'Clusters', value: count(clusters.count) },
        ]}
      />
      <div class="columns">
        <Sources of={report} />
        <Panel title="Similarity of near duplicates">
          <Columns
            label="Near duplicates by similarity"
            kinds="Near duplicates by similarity"
            bars={report.similarity.map(({ from, near, simhash }) => ({
              name: from.toFixed(2),
              parts: [
                { kind: 'linked', count: near },
                { kind: 'other', count: simhash },
              ],
            }))}
          />
        </Panel>
      </div>
    </>
  )
}

function Sources({ of: { sources } }: { readonly of: Report }): JSX.Element {
  return (
    <Panel title="Sources">
      <Table label="Sources" heads={['Source', { number: 'Documents' }, 'Kept, linked, dropped']}>
        {sources.slice(0, 8).map(({ source, documents, kept, linked, dropped }) => (
          <tr key={source}>
            <td>
              <bdi>{source || '(none)'}</bdi>
            </td>
            <td class="number">{count(documents)}</td>
            <td class="wide">
              <Shares
                label={source}
                parts={[
                  { kind: 'kept', count: kept },
                  { kind: 'linked', count: linked },
                  { kind: 'dropped', count: dropped },
                ]}
              />
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

function Clusters({ of }: { readonly of: readonly DocumentCluster[] }): JSX.Element {
  if (of.length === 0) return <p class="soft">No document is like another.</p>
  return (
    <>
      {of.map(({ centre, survivor, size: documents, members }) => (
        <details key={centre.key} class="cluster">
          <summary>
            <strong>{countOf(documents, 'document')}</strong> <bdi>{survivor.id}</bdi>{' '}
            <span class="soft">{beginning(survivor.text)}</span>
          </summary>
          <ul>
            {[{ ...centre, method: 'centre', similarity: 1 }, ...members].map((member) => (
              <li key={member.key}>
                <p>
                  <Status of={member.status} /> <DocumentLink of={member} />{' '}
                  <span class="soft">
                    {member.method === 'centre'
                      ? 'others were measured against it'
                      : `${member.method}, ${percent(member.similarity)}`}
                  </span>
                </p>
                <p class="text" dir="auto">
                  {member.text ?? member.missing ?? ''}
                </p>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </>
  )
}

function beginning(text = ''): string {
  return text.length > 90 ? `${text.slice(0, 90)}…` : text
}

function UndoList({ of }: { readonly of: UndonePlan['undone'] }): JSX.Element {
  return (
    <ul>
      {of.map(({ run, documents }) => (
        <li key={run}>
          <span class="mono">{run}</span>: {countOf(documents, 'document')}
        </li>
      ))}
    </ul>
  )
}

/** What it takes back is shown first; then it is confirmed. */
function UndoDialog({
  run,
  onClose,
}: {
  readonly run: string
  readonly onClose: () => void
}): JSX.Element {
  const plan = useLoaded(
    (signal) => postJson<UndonePlan>(`runs/${run}/undo`, { dryRun: true }, signal),
    [run],
  )
  const [problem, setProblem] = useState<ApiProblem>()
  const undo = async () => {
    try {
      await postJson(`runs/${run}/undo`, {})
      onClose()
      goTo(hrefOf('runs'))
    } catch (error) {
      setProblem(ApiProblem.of(error))
    }
  }
  return (
    <Dialog title={`Undo ${decodeURIComponent(run)}?`} onClose={onClose}>
      <p>All decisions of the run are taken back, and its documents leave the outputs.</p>
      <Shown loaded={plan}>{({ undone }) => <UndoList of={undone} />}</Shown>
      {problem && <ProblemNote problem={problem} />}
      <div class="actions">
        <button
          type="button"
          class="danger"
          disabled={plan.value === undefined}
          onClick={() => void undo()}
        >
          Undo the run
        </button>
      </div>
    </Dialog>
  )
}
