/** Where the S-curve of bands rises: the similarity from which more pairs are found than missed. */

import { type Banding, collisionProbability } from '../fingerprint/index.ts'

const BISECTIONS = 100

/** For texts (1/bands)^(1/rows), the usual estimate; for vectors the cosine at which half of all pairs are found. */
export function approximateThreshold(kind: 'text' | 'vector', { bands, rows }: Banding): number {
  if (kind === 'text') return (1 / bands) ** (1 / rows)
  let low = -1
  let high = 1
  for (let step = 0; step < BISECTIONS; step++) {
    const middle = (low + high) / 2
    const share = 1 - Math.acos(middle) / Math.PI
    if (collisionProbability(share, bands, rows) < 0.5) low = middle
    else high = middle
  }
  return (low + high) / 2
}
