/** Small pictures beside words, which say the same. */

import type { JSX } from 'preact'

const PATHS = {
  overview: 'M3 13h4V8H3zm5 0h4V3H8zm5 0h4V6h-4zM2 16h16',
  browse: 'M2 5h6l2 2h8v9H2zM2 9h16',
  compare: 'M3 3h6v14H3zM11 3h6v14h-6zM5 7h2M5 10h2M13 7h2M13 10h2',
  runs: 'M5 3l11 7-11 7z',
  tune: 'M3 6h7m4 0h3M3 14h3m4 0h7M12 4v4M8 12v4',
  ledger: 'M4 2h12v16H4zM7 6h6M7 10h6M7 14h3',
  theme: 'M10 2a8 8 0 1 0 8 8 6 6 0 0 1-8-8z',
  keys: 'M2 5h16v10H2zM5 8h1m3 0h1m3 0h1M6 12h8',
  out: 'M8 3H3v14h5M8 10h9m-3-3 3 3-3 3',
  refresh: 'M16 6a7 7 0 1 0 1 5M16 2v4h-4',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
