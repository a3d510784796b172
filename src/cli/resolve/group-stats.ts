/** `resolve --stats`: what a group looks like. */

import type { GroupStats } from '../../index.ts'
import type { Invocation } from '../call/invocation.ts'
import { paint, print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { count, size } from '../print/units.ts'
import { groupOf, withResolver } from '../call/with-resolver.ts'

export async function printGroupStats(invocation: Invocation): Promise<number> {
  const group = groupOf(invocation)
  const [stats, settings] = await withResolver(
    invocation,
    { create: false },
    async (resolver) => [await resolver.stats(group), resolver.settings] as const,
  )
  if (invocation.flag('json')) await printJson({ group, ...stats, settings })
  else await print(textOf(stats))
  return 0
}

function textOf({
  clusters,
  members,
  merged,
  possibleMisses,
  largest,
  tables,
}: GroupStats): string {
  const rows = [
    ['clusters', count(clusters)],
    ['members', count(members)],
    ['merged', count(merged)],
    ['possible misses', count(possibleMisses)],
  ]
  if (tables) {
    const { buckets, signatures, ids } = tables.bytes
    rows.push(['tables in memory', size(buckets + signatures + ids)])
  }
  const shown = largest.map(({ id, size: of }) => [count(of), id])
  const head = largest.length > 0 ? `${paint('bold', 'largest clusters')}\n` : ''
  return table(rows, ['left', 'right']) + head + (head && table(shown, ['right', 'left']))
}
