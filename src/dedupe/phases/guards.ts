/** Limits on what may be lost. A run that exceeds one stops before anything is published. */

import { PrestigeError } from '../../platform/errors.ts'
import type { Backend } from '../../backends/index.ts'
import type { ReadingInput } from '../../input/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import type { RunRow } from '../runs.ts'
import { unknownPriorities } from './priorities.ts'
import type { Summary } from './summary.ts'

const VALUE_OF = { newest: 'time', quality: 'quality' } as const

/** What stops this run: limits that are exceeded, and priorities that have no effect. */
export async function violationsIn(
  backend: Backend,
  run: RunRow,
  summary: Summary,
): Promise<string[]> {
  const unknown = await unknownPriorities(backend, run, summary)
  return [...unknown, ...violations(summary, run.config, run.reading?.fields)]
}

/** Which limits are exceeded, by what, in sentences without a full stop. */
export function violations(
  summary: Summary,
  config: DedupeConfig,
  fields: ReadingInput['fields'] = {},
): string[] {
  const found: string[] = []
  for (const [at, rule] of config.keep.entries()) {
    if (rule !== 'newest' && rule !== 'quality') continue
    if (summary.documents === 0 || summary.unranked[at] !== summary.documents) continue
    const name = VALUE_OF[rule]
    const field = JSON.stringify(fields[name] ?? name)
    found.push(
      `No document has a ${name} in the field ${field}, so that keep ${rule} has no effect`,
    )
  }
  const sources = Object.entries(summary.bySource).map(
    ([name, counts]) => [`source ${JSON.stringify(name)}`, counts] as const,
  )
  for (const [source, { documents, dropped }] of [
    ...sources,
    ['all further sources', summary.otherSources] as const,
  ]) {
    const share = documents === 0 ? 0 : dropped / documents
    if (share <= config.maxDrop) continue
    const which = `${dropped} of ${documents} documents of ${source}`
    found.push(
      `${which} would be dropped (${percent(share)}; at most ${percent(config.maxDrop)} are allowed)`,
    )
  }
  const { maxCluster } = config
  for (const { id, size } of summary.largestClusters) {
    if (maxCluster === undefined || size < maxCluster) continue
    found.push(
      `${size} documents are one cluster around ${JSON.stringify(id)} (fewer than ${maxCluster} are allowed)`,
    )
  }
  return found
}

export function stopped(found: readonly string[], run: string): PrestigeError {
  return new PrestigeError(
    'GUARD_STOPPED',
    `Run ${run} was stopped before anything was published: ${found.join('; ')}. To see its clusters: prestige report ${run} --state STATE. To continue, give the same command with a higher limit; to discard it: prestige undo ${run} --state STATE`,
  )
}

/** Of cleaning, which cannot be resumed. */
export function stoppedCleaning(found: readonly string[]): PrestigeError {
  return new PrestigeError(
    'GUARD_STOPPED',
    `Nothing was published: ${found.join('; ')}. Raise the limit if this is intended.`,
  )
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
