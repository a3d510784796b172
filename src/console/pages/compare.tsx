/** Two texts side by side: how similar they are by each method, and what keeps them apart. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { call, postJson } from '../api/client.ts'
import type { Compared } from '../api/types.ts'
import { Empty, PageHead, Panel, Shown } from '../parts/basics.tsx'
import { linePath, Plot, shareTicks } from '../parts/charts.tsx'
import { count, percent } from '../parts/format.ts'
import { SideBySide, Vetoes } from '../parts/side-by-side.tsx'
import { useLoaded, useSettled } from '../state/loaded.ts'
import { place } from '../state/place.ts'
import { ThresholdSlider } from '../parts/threshold-slider.tsx'
import { chosenThreshold } from '../state/session.ts'

const EXAMPLE = [
  'The pump must be switched off before the filter is changed. Wait 10 minutes, then open the valve and drain the tank completely. Call the service team if pressure remains.',
  'The pump has to be switched off before the filter is changed. Wait 15 minutes, then open the valve and drain the tank completely. Call the service team if any pressure remains.',
] as const

interface Texts {
  readonly a: string
  readonly b: string
}

export function ComparePage(): JSX.Element {
  const [texts, setTexts] = useState<Texts>({ a: '', b: '' })
  const [threshold, setThreshold] = useState(Number(chosenThreshold.value) || 0.8)
  useEffect(() => {
    const { query } = place.value
    void textsOfKeys(query.get('a'), query.get('b')).then((found) => found && setTexts(found))
  }, [])
  const asked = useSettled(texts)
  const level = useSettled(threshold, 120)
  const hasBoth = asked.a.trim() !== '' && asked.b.trim() !== ''
  const compared = useLoaded(
    hasBoth
      ? (signal) => postJson<Compared>('compare', { ...asked, threshold: level }, signal)
      : undefined,
    [asked, level, hasBoth],
  )
  return (
    <>
      <PageHead
        title="Compare"
        about="Two texts: what they share, and whether they are duplicates."
      >
        <button type="button" onClick={() => setTexts({ a: EXAMPLE[0], b: EXAMPLE[1] })}>
          Use an example
        </button>
      </PageHead>
      <div class="columns texts">
        <TextField label="Text A" value={texts.a} onInput={(a) => setTexts({ ...texts, a })} />
        <TextField label="Text B" value={texts.b} onInput={(b) => setTexts({ ...texts, b })} />
      </div>
      {hasBoth ? (
        <Shown loaded={compared} missing="This server does not compare texts.">
          {(value) => <Result of={value} threshold={threshold} onThreshold={setThreshold} />}
        </Shown>
      ) : (
        <Panel>
          <Empty title="Two texts are needed">
            Paste them above, or open a key in Browse that is linked to another.
          </Empty>
        </Panel>
      )}
    </>
  )
}

async function textsOfKeys(a: string | null, b: string | null): Promise<Texts | undefined> {
  if (!a || !b) return undefined
  const text = async (path: string) => {
    try {
      return await (await call(`kv/${path}`)).text()
    } catch {
      return ''
    }
  }
  const [first, second] = await Promise.all([text(a), text(b)])
  return { a: first, b: second }
}

function TextField({
  label,
  value,
  onInput,
}: {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
}): JSX.Element {
  return (
    <label class="field">
      <span>
        {label} <span class="soft">{value === '' ? '' : `${count(value.length)} characters`}</span>
      </span>
      <textarea
        rows={6}
        dir="auto"
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  )
}

interface ResultProps {
  readonly of: Compared
  readonly threshold: number
  readonly onThreshold: (threshold: number) => void
}

function Result(props: ResultProps): JSX.Element {
  const { comparison, alignment, methods, vetoes } = props.of
  const { shingles, profile } = comparison
  return (
    <>
      <div class="columns">
        <Panel title="Similarity" note={`cut into ${profile}`}>
          <Verdict of={props.of} />
          <Methods of={methods} threshold={comparison.threshold} />
          <p class="soft">
            {count(shingles.shared)} shingles are in both; A has {count(shingles.a)}, B has{' '}
            {count(shingles.b)}.
          </p>
        </Panel>
        <Bands {...props} />
      </div>
      {vetoes.length > 0 && (
        <Panel title="Guards that keep the two apart">
          <Vetoes of={vetoes} />
        </Panel>
      )}
      <Panel title="Side by side">
        <SideBySide alignment={alignment} names={['Text A', 'Text B']} />
      </Panel>
    </>
  )
}

function Verdict({ of: { comparison, vetoes } }: { readonly of: Compared }): JSX.Element {
  const { isDuplicate, similarity, threshold } = comparison
  const why =
    similarity < threshold
      ? `less similar than ${percent(threshold, 0)}`
      : vetoes.length > 0
        ? 'similar enough, but a guard keeps them apart'
        : `at least ${percent(threshold, 0)} similar`
  return (
    <p class="verdict" role="status">
      <span class={`status is-${isDuplicate ? 'duplicate' : 'different'}`}>
        {isDuplicate ? 'duplicates' : 'different'}
      </span>{' '}
      {why}
    </p>
  )
}

const METHOD_NAMES: Readonly<Record<string, string>> = {
  jaccard: 'Shared shingles',
  estimate: 'Estimate by sketches',
  simhash: 'SimHash',
  containment: 'Containment',
  semantic: 'Meaning',
}

function Methods({
  of,
  threshold,
}: {
  readonly of: Compared['methods']
  readonly threshold: number
}): JSX.Element {
  return (
    <ul class="methods">
      {of.map(({ method, similarity }) => (
        <li key={method}>
          <span>{METHOD_NAMES[method] ?? method}</span>
          <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect class="ground" width="100" height="6" />
            <rect class="fill-linked" width={similarity * 100} height="6" />
            <rect class="mark" x={threshold * 100 - 0.3} width="0.6" height="6" />
          </svg>
          <strong>{percent(similarity)}</strong>
        </li>
      ))}
    </ul>
  )
}

function Bands({ of: { comparison, curve }, threshold, onThreshold }: ResultProps): JSX.Element {
  const { banding, similarity, collisionProbability, sharedBands } = comparison
  const points = curve.map((point) => ({ x: point.similarity, y: point.probability }))
  return (
    <Panel title="Threshold" note={`${banding.bands} bands of ${banding.rows} rows`}>
      <ThresholdSlider min={0.3} value={threshold} onChange={onThreshold} />
      <Plot
        label="Probability that bands meet, by similarity"
        summary={`At a similarity of ${percent(similarity)} it is ${percent(collisionProbability)}.`}
        from={{ x: 0, y: 0 }}
        to={{ x: 1, y: 1 }}
        xTicks={shareTicks}
        yTicks={[0, 0.5, 1]}
        yText={(value) => percent(value, 0)}
      >
        {(scale) => (
          <>
            <path class="line tone-linked" d={linePath(points, scale)} />
            <line
              class="threshold"
              x1={scale.x(threshold)}
              x2={scale.x(threshold)}
              y1={scale.y(0)}
              y2={scale.y(1)}
            />
            <circle
              class="tone-dropped"
              r="5"
              cx={scale.x(similarity)}
              cy={scale.y(collisionProbability)}
            />
          </>
        )}
      </Plot>
      <p class="soft">
        These two are found with a probability of {percent(collisionProbability)};{' '}
        {sharedBands.length} of their bands meet.
      </p>
    </Panel>
  )
}
