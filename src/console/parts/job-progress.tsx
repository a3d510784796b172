/** A job under way: what it does right now, and how to stop it. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { ApiProblem, call, eventsOf, type ServerEvent } from '../api/client.ts'
import { hrefOf } from '../state/place.ts'
import { Panel, ProblemNote, Status } from './basics.tsx'
import { Scalars } from './scalars.tsx'

interface Progress {
  readonly phase: string
  readonly figures: unknown
  readonly run?: string
  readonly problem?: ApiProblem
}

export function JobProgress({
  job,
  onEnd,
}: {
  readonly job: string
  readonly onEnd: () => void
}): JSX.Element {
  const [progress, setProgress] = useState<Progress>({ phase: 'waiting', figures: undefined })
  useEffect(() => {
    const controller = new AbortController()
    const follow = async () => {
      for await (const event of eventsOf(`jobs/${job}/events`, controller.signal)) {
        setProgress((before) => after(before, event))
        if (event.event === 'done' || event.event === 'failed') onEnd()
      }
    }
    follow().catch((error: unknown) => {
      if (!controller.signal.aborted)
        setProgress((before) => ({ ...before, problem: ApiProblem.of(error) }))
    })
    return () => controller.abort()
  }, [job])
  const { phase, figures, problem, run } = progress
  const isUnderWay = phase !== 'done' && phase !== 'failed'
  return (
    <Panel
      title="Run under way"
      class="job"
      actions={
        isUnderWay && (
          <button type="button" onClick={() => void call(`jobs/${job}`, { method: 'DELETE' })}>
            Stop
          </button>
        )
      }
    >
      <p aria-live="polite">
        <Status of={phase} />{' '}
        {run !== undefined && <a href={hrefOf('runs', [encodeURIComponent(run)])}>{run}</a>}
      </p>
      {isUnderWay && <div class="progress-bar" role="progressbar" aria-label="Run under way" />}
      {figures !== undefined && <Scalars of={figures} />}
      {problem && <ProblemNote problem={problem} />}
    </Panel>
  )
}

function after(before: Progress, { event, data }: ServerEvent): Progress {
  const sent: unknown = parsed(data)
  const run = textIn(sent, 'run') ?? before.run
  const known = run === undefined ? before : { ...before, run }
  if (event === 'failed') {
    const message = textIn(sent, 'detail') ?? textIn(sent, 'message') ?? 'The run has failed.'
    const code = textIn(sent, 'code') ?? 'FAILED'
    return { ...known, phase: 'failed', problem: new ApiProblem(0, code, message) }
  }
  if (event === 'done') return { ...known, phase: 'done' }
  if (event === 'phase') return { ...known, phase: textIn(sent, 'phase') ?? data }
  return event === 'progress' ? { ...known, figures: sent } : known
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}

function textIn(sent: unknown, name: string): string | undefined {
  const value: unknown =
    typeof sent === 'object' && sent !== null ? Reflect.get(sent, name) : undefined
  return typeof value === 'string' ? value : undefined
}
