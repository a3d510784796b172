/** Results of all runs of a state together, as it is now: every document counts once. */

import type { Backend } from '../../backends/index.ts'
import { named } from '../names.ts'
import { linesOf } from '../output/lines.ts'
import { type ClusterSample, type ClusterSizes, sizeClass } from '../phases/cluster-sizes.ts'
import { rejectsIn } from '../phases/rejects.ts'
import { countReject, Counting, type Summary } from '../phases/summary.ts'
import { clusters } from '../rows.ts'
import type { RunHead } from '../runs.ts'
import { largestStored, type StoredCluster } from './clusters.ts'

const LARGEST = 10
const MEMBERS = 5

export async function summariseAll(backend: Backend, runs: readonly RunHead[]): Promise<Summary> {
  const counting = new Counting()
  const counted = runs.filter(({ status }) => status !== 'undone')
  for (const { id } of counted) {
    for await (const page of linesOf(backend, id)) {
      for (const line of page) {
        // A later run may have met a document again that an earlier one decided about.
        if (!line.entry.isRepeated && line.row.run !== id) continue
        counting.add(line)
        if (!line.entry.isRepeated) counting.addOrphaned(line.row)
      }
    }
  }
  const summary = counting.summary()
  for (const { id } of counted) {
    for await (const { reason, count, reject } of rejectsIn(backend, id)) {
      countReject(summary, reason, count)
      if (!reject) summary.rejectsUnrecorded += count
    }
  }
  const { clusters: all, sizes, largest } = await clusterSizes(backend)
  return { ...summary, clusters: all, clusterSizes: sizes, largestClusters: largest }
}

async function clusterSizes(backend: Backend): Promise<ClusterSizes> {
  const sizes: number[] = []
  let count = 0
  for await (const { value } of backend.scan(clusters)) {
    count++
    const place = sizeClass(value.size)
    while (sizes.length <= place) sizes.push(0)
    sizes[place] = (sizes[place] ?? 0) + 1
  }
  const stored = await largestStored(backend, LARGEST, 2, MEMBERS)
  return { clusters: count, sizes, largest: stored.flatMap((one) => sampleOf(one) ?? []) }
}

function sampleOf({ centre, survivor, size, members }: StoredCluster): ClusterSample | undefined {
  if (!centre) return undefined
  return {
    ...named(centre.row),
    size,
    survivor: named((survivor ?? centre).row),
    members: members.map(({ row }) => {
      const { method = '', similarity = 1 } = row
      return { ...named(row), method, similarity }
    }),
  }
}
