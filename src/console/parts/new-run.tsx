/** Documents in: planned first, or run at once. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

import { ApiProblem, call, queryText } from '../api/client.ts'
import { chosenThreshold } from '../state/session.ts'
import { Panel, ProblemNote } from './basics.tsx'
import { Scalars } from './scalars.tsx'

interface Input {
  readonly file?: File | undefined
  readonly paths: string
  readonly threshold: string
}

type Outcome =
  | { readonly kind: 'busy' }
  | { readonly kind: 'plan'; readonly plan: unknown }
  | { readonly kind: 'failed'; readonly problem: ApiProblem }

async function send(path: string, { file, paths, threshold }: Input): Promise<unknown> {
  const inputs = paths.split('\n').filter((line) => line.trim() !== '')
  const near = threshold === '' ? undefined : Number(threshold)
  const response = file
    ? await call(`${path}${queryText({ 'near.threshold': near })}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson' },
        body: file,
      })
    : await call(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          inputs,
          ...(near !== undefined && { settings: { near: { threshold: near } } }),
        }),
      })
  return response.json()
}

export function NewRun({ onStart }: { readonly onStart: () => void }): JSX.Element {
  const [input, setInput] = useState<Input>({ paths: '', threshold: chosenThreshold.value })
  const [outcome, setOutcome] = useState<Outcome>()
  const hasInput = input.file !== undefined || input.paths.trim() !== ''
  const submit = async (isPlan: boolean) => {
    setOutcome({ kind: 'busy' })
    try {
      const answer = await send(isPlan ? 'runs/plan' : 'runs', input)
      setOutcome(isPlan ? { kind: 'plan', plan: answer } : undefined)
      if (!isPlan) onStart()
    } catch (error) {
      setOutcome({ kind: 'failed', problem: ApiProblem.of(error) })
    }
  }
  const isBlocked = !hasInput || outcome?.kind === 'busy'
  return (
    <Panel title="New run" note="a plan keeps nothing">
      <form class="new-run" onSubmit={(event) => (event.preventDefault(), void submit(false))}>
        <Fields of={input} onChange={setInput} />
        <div class="actions">
          <button type="button" disabled={isBlocked} onClick={() => void submit(true)}>
            Plan
          </button>
          <button type="submit" class="primary" disabled={isBlocked}>
            Start the run
          </button>
        </div>
      </form>
      {outcome?.kind === 'busy' && (
        <div class="progress-bar" role="progressbar" aria-label="Working" />
      )}
      {outcome?.kind === 'failed' && <ProblemNote problem={outcome.problem} />}
      {outcome?.kind === 'plan' && (
        <div role="status">
          <h3>This run would give</h3>
          <Scalars of={outcome.plan} />
        </div>
      )}
    </Panel>
  )
}

function Fields({
  of,
  onChange,
}: {
  readonly of: Input
  readonly onChange: (input: Input) => void
}): JSX.Element {
  return (
    <>
      <label class="field">
        <span>A file of documents (JSON Lines)</span>
        <input
          type="file"
          accept=".jsonl,.ndjson,.json,application/x-ndjson"
          onChange={({ currentTarget }) => onChange({ ...of, file: currentTarget.files?.[0] })}
        />
      </label>
      <label class="field">
        <span>Or paths on the server, one a line</span>
        <textarea
          rows={2}
          value={of.paths}
          spellcheck={false}
          onInput={({ currentTarget }) => onChange({ ...of, paths: currentTarget.value })}
        />
      </label>
      <label class="field is-short">
        <span>Threshold</span>
        <input
          type="number"
          min="0.05"
          max="1"
          step="0.01"
          placeholder="default"
          value={of.threshold}
          onInput={({ currentTarget }) => onChange({ ...of, threshold: currentTarget.value })}
        />
      </label>
    </>
  )
}
