/** In which sense two values are the same, in words. */

import type { Method } from '../index.ts'
import { percent } from './units.ts'

export function sameness({
  method,
  similarity,
}: {
  readonly method?: Method | undefined
  readonly similarity?: number | undefined
}): string {
  if (method === 'near') return `${percent(similarity ?? 0)} similar`
  if (method === 'semantic') return `${percent(similarity ?? 0)} alike in meaning`
  return method === 'canonical' ? 'the same in canonical form' : 'the same bytes'
}
