/** Numbers and times for people. */

export { count, countOf, duration, ratio, size } from '../../platform/units.ts'

const DATE = new Intl.DateTimeFormat('en-GB', {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})

export function moment(at: string | number): string {
  return DATE.format(new Date(at))
}

export function percent(share: number, digits = 1): string {
  return `${(share * 100).toFixed(digits)} %`
}

export function milliseconds(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`
  return ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(1)} s`
}

/** `950`, `12.3k`: for the axis of a chart. */
export function short(amount: number): string {
  if (amount < 1000) return String(Math.round(amount * 10) / 10)
  const [part, unit] = amount < 1e6 ? [amount / 1e3, 'k'] : [amount / 1e6, 'M']
  return `${part.toFixed(part < 10 ? 1 : 0)}${unit}`
}
