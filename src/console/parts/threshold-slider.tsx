/** A threshold that is chosen by a slider. */

import type { JSX } from 'preact'

interface ThresholdSliderProps {
  readonly min: number
  readonly value: number
  readonly onChange: (threshold: number) => void
}

export function ThresholdSlider({ min, value, onChange }: ThresholdSliderProps): JSX.Element {
  return (
    <label class="slider">
      <span>Threshold</span>
      <input
        type="range"
        min={min}
        max="1"
        step="0.01"
        value={value}
        onInput={({ currentTarget }) => onChange(Number(currentTarget.value))}
      />
      <output>{value.toFixed(2)}</output>
    </label>
  )
}
