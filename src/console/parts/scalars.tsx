/** The figures of an answer, whatever they are called. */

import type { JSX } from 'preact'

import { count } from './format.ts'

export function Scalars({ of }: { readonly of: unknown }): JSX.Element {
  const found = scalarsOf(of)
  if (found.length === 0) return <p class="soft">Nothing.</p>
  return (
    <dl class="facts-list">
      {found.map(([name, value]) => (
        <>
          <dt key={name}>{name}</dt>
          <dd>{typeof value === 'number' ? count(value) : String(value)}</dd>
        </>
      ))}
    </dl>
  )
}

export function scalarsOf(value: unknown, before = ''): [name: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]: [string, unknown]) => {
    const label = before === '' ? name : `${before} ${name}`
    if (typeof one === 'object') return scalarsOf(one, /^\d+$/.test(name) ? before : label)
    return one === '' || one === undefined ? [] : [[label, one]]
  })
}
