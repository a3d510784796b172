/** Numbers for people, and times as people write them. */

import { usageFailure } from '../call/failure.ts'

export { count, countOf, duration, rate, ratio, size, time } from '../../platform/units.ts'

/** `96.7 %`; what is not the same is never `100 %`. */
export function percent(share: number): string {
  return `${share === 1 ? '100' : (Math.floor(share * 1000) / 10).toFixed(1)} %`
}

const MS_OF = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Milliseconds of `500ms`, `10s`, `5m`, `2h`, `1.5h` or `7d`. */
export function readDuration(text: string, option: string): number {
  const found = /^(?<amount>\d+(?:\.\d+)?)(?<unit>ms|[smhd])$/.exec(text)?.groups
  const unit = found?.['unit']
  const ms = isUnit(unit) ? Number(found?.['amount']) * MS_OF[unit] : 0
  if (ms > 0) return ms
  throw usageFailure(`--${option} is a time like 500ms, 10s, 5m, 2h or 7d; not "${text}".`)
}

function isUnit(unit: string | undefined): unit is keyof typeof MS_OF {
  return unit !== undefined && Object.hasOwn(MS_OF, unit)
}
