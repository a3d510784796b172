/** A document of a run by its name. */

import type { JSX } from 'preact'

import { hrefOf } from '../state/place.ts'

interface Named {
  readonly id: string
  readonly source?: string | undefined
}

export function DocumentLink({ of: { id, source } }: { readonly of: Named }): JSX.Element {
  return (
    <a class="mono" href={hrefOf('runs', ['why', encodeURIComponent(id)], { source })}>
      <bdi>{id}</bdi>
    </a>
  )
}
