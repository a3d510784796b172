/** Precision and recall of every threshold with their intervals, and the choice of one. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

import type { Tuned } from '../api/types.ts'
import { ThresholdSlider } from './threshold-slider.tsx'
import { useObserved } from '../state/observable.ts'
import { chosenThreshold } from '../state/session.ts'
import { bandPath, linePath, Plot, type Point, type Scale, shareTicks } from './charts.tsx'
import { percent } from './format.ts'

type Score = Tuned['thresholds'][number]
type Rate = Score['precision']

export function ThresholdChoice({ of: tuned }: { readonly of: Tuned }): JSX.Element {
  const [own, setOwn] = useState<number>()
  const taken = useObserved(chosenThreshold)
  const threshold = own ?? tuned.threshold
  const score = nearest(tuned.thresholds, threshold) ?? tuned.chosen
  return (
    <div class="columns">
      <div>
        <RatesPlot of={tuned.thresholds} threshold={threshold} />
        <ul class="legend">
          <li class="tone-linked">precision</li>
          <li class="tone-kept">recall</li>
          <li class="soft">shaded: where the true value is, 95 % sure</li>
        </ul>
      </div>
      <div>
        <ThresholdSlider min={0.05} value={threshold} onChange={setOwn} />
        <dl class="rates">
          <RateLine name="Precision" of={score.precision} />
          <RateLine name="Recall" of={score.recall} />
          <RateLine name="F1" of={score.f1} />
        </dl>
        <div class="actions">
          <button type="button" onClick={() => setOwn(undefined)} disabled={own === undefined}>
            Best: {tuned.threshold.toFixed(2)}
          </button>
          <button
            type="button"
            class="primary"
            onClick={() => chosenThreshold.set(threshold.toFixed(2))}
          >
            Use {threshold.toFixed(2)}
          </button>
        </div>
        <p class="soft" role="status">
          {taken === ''
            ? 'New runs and comparisons then begin with it.'
            : `New runs and comparisons here begin with ${taken}. Elsewhere: prestige dedupe --threshold ${taken}`}
        </p>
      </div>
    </div>
  )
}

function nearest(scores: readonly Score[], threshold: number): Score | undefined {
  const distance = (score: Score) => Math.abs(score.threshold - threshold)
  return scores.toSorted((a, b) => distance(a) - distance(b))[0]
}

function RateLine({ name, of }: { readonly name: string; readonly of: Rate }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {of.value === undefined ? '–' : percent(of.value, 0)}
        <small>
          {percent(of.low, 0)} to {percent(of.high, 0)}
        </small>
      </dd>
    </div>
  )
}

function RatesPlot({
  of: scores,
  threshold,
}: {
  readonly of: readonly Score[]
  readonly threshold: number
}): JSX.Element {
  const score = nearest(scores, threshold)
  const said = (rate: Rate | undefined) => percent(rate?.value ?? 0, 0)
  return (
    <Plot
      label="Precision and recall by threshold"
      summary={`At ${threshold.toFixed(2)}: precision ${said(score?.precision)}, recall ${said(score?.recall)}`}
      height={240}
      from={{ x: 0, y: 0 }}
      to={{ x: 1, y: 1 }}
      xTicks={shareTicks}
      yTicks={[0, 0.25, 0.5, 0.75, 1]}
      yText={(value) => percent(value, 0)}
    >
      {(scale) => (
        <>
          <RateLines of={scores} name="precision" tone="linked" scale={scale} />
          <RateLines of={scores} name="recall" tone="kept" scale={scale} />
          <line
            class="threshold"
            x1={scale.x(threshold)}
            x2={scale.x(threshold)}
            y1={scale.y(0)}
            y2={scale.y(1)}
          />
        </>
      )}
    </Plot>
  )
}

function RateLines({
  of: scores,
  name,
  tone,
  scale,
}: {
  readonly of: readonly Score[]
  readonly name: 'precision' | 'recall'
  readonly tone: string
  readonly scale: Scale
}): JSX.Element {
  const at = (value: (rate: Rate) => number | undefined): Point[] =>
    scores.flatMap((score) => {
      const y = value(score[name])
      return y === undefined ? [] : [{ x: score.threshold, y }]
    })
  const [low, high] = [at((rate) => rate.low), at((rate) => rate.high)]
  return (
    <g class={`tone-${tone}`}>
      <path class="band" d={bandPath(low, high, scale)} />
      <path
        class="line"
        d={linePath(
          at((rate) => rate.value),
          scale,
        )}
      />
    </g>
  )
}
