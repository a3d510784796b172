/** Ceilings on what may be lost. A run that goes beyond them stops before anything is published. */

import { PrestigeError } from '../../platform/errors.ts'
import type { DedupeConfig } from '../config/config.ts'
import type { Summary } from './summary.ts'

/** Sentences that say which ceiling was passed, by what. */
export function violations(summary: Summary, config: DedupeConfig): string[] {
  const found: string[] = []
  const sources = Object.entries(summary.bySource).map(
    ([name, counts]) => [`source ${JSON.stringify(name)}`, counts] as const,
  )
  for (const [source, { documents, dropped }] of [
    ...sources,
    ['all further sources', summary.otherSources] as const,
  ]) {
    const share = documents === 0 ? 0 : dropped / documents
    if (share <= config.maxDrop) continue
    const told = `${dropped} of ${documents} documents of ${source}`
    found.push(
      `${told} would be dropped (${percent(share)}; at most ${percent(config.maxDrop)} may be)`,
    )
  }
  const { maxCluster } = config
  for (const { id, size } of summary.largestClusters) {
    if (maxCluster === undefined || size < maxCluster) continue
    found.push(
      `${size} documents are one cluster around ${JSON.stringify(id)} (less than ${maxCluster} may be)`,
    )
  }
  return found
}

export function stopped(found: readonly string[], run: string): PrestigeError {
  return new PrestigeError(
    'GUARD_STOPPED',
    `Run ${run} was stopped before anything was published: ${found.join('; ')}. Look at its clusters with 'prestige report ${run}'; then raise the ceiling and run again, or undo it.`,
  )
}

/** Of cleaning, which leaves nothing that could be gone on with. */
export function stoppedCleaning(found: readonly string[]): PrestigeError {
  return new PrestigeError(
    'GUARD_STOPPED',
    `Nothing was published: ${found.join('; ')}. Raise the ceiling if that is as it should be.`,
  )
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
