/** A document of a run by its name. */

import type { JSX } from 'preact'

import { hrefOf } from '../state/place.ts'

export function DocumentLink({
  of: { id },
}: {
  readonly of: { readonly id: string }
}): JSX.Element {
  return (
    <a class="mono" href={hrefOf('runs', ['why', encodeURIComponent(id)])}>
      <bdi>{id}</bdi>
    </a>
  )
}
