/** Pairs labelled with two keys, and the threshold that fits the labels. */

import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'

import { getJson, postJson } from '../api/client.ts'
import type { Pairs, Tuned } from '../api/types.ts'
import { Empty, PageHead, Panel, Shown } from '../parts/basics.tsx'
import { count, countOf, percent } from '../parts/format.ts'
import { ThresholdChoice } from '../parts/threshold-choice.tsx'
import { useLoaded } from '../state/loaded.ts'
import { Observable, useObserved } from '../state/observable.ts'
import { useShortcuts } from '../state/shortcuts.ts'

const COUNT = 50
type Call = Pairs['calls'][number]

interface Label {
  readonly call: Call
  /** `undefined`: passed over. */
  readonly isDuplicate: boolean | undefined
}

/** Kept while other pages are looked at. */
const labels: Observable<readonly Label[]> = new Observable<readonly Label[]>([])

export function TunePage(): JSX.Element {
  const pairs = useLoaded((signal) => getJson<Pairs>(`pairs?count=${COUNT}`, signal), [])
  return (
    <>
      <PageHead title="Tune" about="Say which pairs are duplicates; the closest calls come first.">
        <SaveLabels />
      </PageHead>
      <Shown
        loaded={pairs}
        missing="Pairs are there where the server has runs: start it with --jobs."
      >
        {(value) => <Labelling of={value} />}
      </Shown>
    </>
  )
}

function Labelling({ of: { calls, threshold } }: { readonly of: Pairs }): JSX.Element {
  const done = useObserved(labels)
  const queue = useMemo(
    () =>
      calls
        .filter(({ a, b }) => a.text !== undefined && b.text !== undefined)
        .toSorted(
          (x, y) => Math.abs(x.similarity - threshold) - Math.abs(y.similarity - threshold),
        ),
    [calls, threshold],
  )
  const seen = new Set(done.map(({ call }) => nameOf(call)))
  const next = queue.find((call) => !seen.has(nameOf(call)))
  const label = (isDuplicate: boolean | undefined) => {
    if (next) labels.set([...labels.value, { call: next, isDuplicate }])
  }
  const back = () => labels.set(labels.value.slice(0, -1))
  useShortcuts([
    { key: 'd', does: 'The two are duplicates', action: () => label(true) },
    { key: 'n', does: 'The two are different', action: () => label(false) },
    { key: 's', does: 'Pass the pair over', action: () => label(undefined) },
    { key: 'u', does: 'Take the last label back', action: back },
  ])
  return (
    <>
      <Panel
        title="Are these two duplicates?"
        note={`${count(done.length)} of ${count(queue.length)} seen`}
      >
        {next ? <Pair of={next} /> : <NoMorePairs isEmpty={queue.length === 0} />}
        <div class="actions labels">
          <button type="button" class="yes" disabled={!next} onClick={() => label(true)}>
            Duplicates <kbd>d</kbd>
          </button>
          <button type="button" class="no" disabled={!next} onClick={() => label(false)}>
            Different <kbd>n</kbd>
          </button>
          <button type="button" disabled={!next} onClick={() => label(undefined)}>
            Pass over <kbd>s</kbd>
          </button>
          <button type="button" disabled={done.length === 0} onClick={back}>
            Back <kbd>u</kbd>
          </button>
        </div>
      </Panel>
      <Figures of={done} />
    </>
  )
}

function nameOf({ a, b }: Call): string {
  return `${a.key} ${b.key}`
}

function NoMorePairs({ isEmpty }: { readonly isEmpty: boolean }): JSX.Element {
  if (isEmpty) return <Empty title="No close pairs">No two documents are near the threshold.</Empty>
  return <Empty title="All pairs are labelled">The threshold below is the best for them.</Empty>
}

function Pair({ of: { a, b, similarity, decision } }: { readonly of: Call }): JSX.Element {
  return (
    <div class="pair" aria-live="polite">
      <div class="sides">
        {[a, b].map(({ key, id, text }) => (
          <section key={key} aria-label={id}>
            <h3>
              <bdi>{id}</bdi>
            </h3>
            <div class="text" dir="auto">
              {text}
            </div>
          </section>
        ))}
      </div>
      <p class="soft">
        {percent(similarity)} similar; the run decided:{' '}
        {decision === 'refused' ? 'kept apart by a guard' : decision}
      </p>
    </div>
  )
}

function Figures({ of: done }: { readonly of: readonly Label[] }): JSX.Element {
  const pairs = done
    .filter(({ isDuplicate }) => isDuplicate !== undefined)
    .map(({ call: { a, b }, isDuplicate }) => ({ a: a.text, b: b.text, isDuplicate }))
  const hasBoth =
    pairs.some(({ isDuplicate }) => isDuplicate) && pairs.some(({ isDuplicate }) => !isDuplicate)
  const tuned = useLoaded(
    hasBoth ? (signal) => postJson<Tuned>('tune', { pairs }, signal) : undefined,
    [pairs.length, hasBoth],
  )
  return (
    <Panel title="Precision and recall" note={countOf(pairs.length, 'label')}>
      {hasBoth ? (
        <Shown loaded={tuned}>{(value) => <ThresholdChoice of={value} />}</Shown>
      ) : (
        <Empty title="Labels are needed">
          At least one pair that is a duplicate, and one that is not.
        </Empty>
      )}
    </Panel>
  )
}

/** As `prestige tune` reads them. */
function SaveLabels(): JSX.Element {
  const done = useObserved(labels)
  const [address, setAddress] = useState<string>()
  const make = () => {
    const lines = done
      .filter(({ isDuplicate }) => isDuplicate !== undefined)
      .map(({ call: { a, b }, isDuplicate }) =>
        JSON.stringify({ a: a.text, b: b.text, label: isDuplicate }),
      )
    if (address !== undefined) URL.revokeObjectURL(address)
    setAddress(URL.createObjectURL(new Blob([lines.map((line) => `${line}\n`).join('')])))
  }
  return (
    <a
      class={`button ${done.length === 0 ? 'is-off' : ''}`}
      href={address ?? '#'}
      download="labels.jsonl"
      aria-disabled={done.length === 0}
      onPointerDown={make}
      onFocus={make}
    >
      Save the labels
    </a>
  )
}
