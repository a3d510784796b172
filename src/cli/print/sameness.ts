/** How two values match, in words. */

import type { Method } from '../../store/index.ts'
import { percent } from './units.ts'

export function sameness({
  method,
  similarity,
}: {
  readonly method?: Method | undefined
  readonly similarity?: number | undefined
}): string {
  if (method === 'near') return `${percent(similarity ?? 0)} similar`
  if (method === 'semantic') return `${percent(similarity ?? 0)} similar in meaning`
  return method === 'canonical' ? 'same canonical form' : 'same bytes'
}
