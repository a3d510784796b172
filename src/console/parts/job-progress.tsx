/** A job under way: what it does right now, and how to stop it. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { ApiProblem, call, eventsOf } from '../api/client.ts'
import type { Job } from '../api/types.ts'
import { hrefOf } from '../state/place.ts'
import { Panel, ProblemNote, Status } from './basics.tsx'
import { count, percent, size } from './format.ts'

const ENDS = new Set<Job['status']>(['done', 'failed', 'stopped'])

export function JobProgress({
  of,
  onEnd,
}: {
  readonly of: Job
  readonly onEnd: () => void
}): JSX.Element {
  const [job, setJob] = useState(of)
  const [problem, setProblem] = useState<ApiProblem>()
  useEffect(() => {
    const controller = new AbortController()
    const follow = async () => {
      for await (const { data } of eventsOf(`jobs/${of.job}/events`, controller.signal)) {
        const next: Job = JSON.parse(data)
        setJob(next)
        if (ENDS.has(next.status)) onEnd()
      }
    }
    follow().catch((error: unknown) => {
      if (!controller.signal.aborted) setProblem(ApiProblem.of(error))
    })
    return () => controller.abort()
  }, [of.job])
  const isUnderWay = !ENDS.has(job.status)
  const stop = () => void call(`jobs/${job.job}`, { method: 'DELETE' })
  return (
    <Panel
      title={isUnderWay ? 'Run under way' : 'Run'}
      class="job"
      actions={
        isUnderWay && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )
      }
    >
      <p aria-live="polite">
        <Status of={isUnderWay ? (job.phase ?? job.status) : job.status} /> {count(job.documents)}{' '}
        documents, {size(job.bytes)}{' '}
        {job.run !== undefined && (
          <a href={hrefOf('runs', [encodeURIComponent(job.run)])}>{job.run}</a>
        )}
      </p>
      {isUnderWay && <Bar of={job} />}
      {job.error && <ProblemNote problem={new ApiProblem(0, job.error.code, job.error.message)} />}
      {problem && <ProblemNote problem={problem} />}
    </Panel>
  )
}

/** Bytes of texts are fewer than those of files, so the end comes a little before the bar is full. */
function Bar({ of: { bytes, bytesAll } }: { readonly of: Job }): JSX.Element {
  const share = bytesAll === 0 ? 0 : Math.min(1, bytes / bytesAll)
  return (
    <svg
      class="shares"
      viewBox="0 0 100 6"
      preserveAspectRatio="none"
      role="progressbar"
      aria-label="Texts that were read"
      aria-valuenow={Math.round(share * 100)}
      aria-valuetext={percent(share, 0)}
    >
      <rect class="ground" width="100" height="6" />
      <rect class="fill-linked" width={share * 100} height="6" />
    </svg>
  )
}
