/** What the workers of a race are given: the same values and near duplicates over and over, in a seeded order. */

import { seededRandom } from '../../src/backends/simulated/backend.ts'
import { edited, lettersOf, textOf } from '../texts/near-texts.ts'

export type Delivery =
  | { readonly kind: 'put'; readonly key: string; readonly value: string }
  | { readonly kind: 'resolve'; readonly cluster: number; readonly text: string }

export interface WorkOptions {
  readonly values: number
  readonly copies: number
  readonly clusters: number
  readonly members: number
  readonly redelivered: number
  readonly seed: number
}

export const WHOLE: Omit<WorkOptions, 'seed'> = {
  values: 200,
  copies: 6,
  clusters: 200,
  members: 6,
  redelivered: 0.2,
}

const IDENTICAL = 2
const SCRIPTS = ['', 'दो प्रतियाँ एक ही बात ', '同一件事的两份副本 ', 'نسختان من شيء واحد ', '👯‍♀️ ']

const GROUPS_AT_ONCE = 3

function groupOf(delivery: Delivery): number {
  return delivery.kind === 'put' ? Number.parseInt(delivery.key, 10) : delivery.cluster
}

export function workOf(options: WorkOptions): Delivery[] {
  const { values, copies, clusters, members, redelivered, seed } = options
  const random = seededRandom(seed)
  const work: Delivery[] = []
  for (let at = 0; at < values; at++) {
    const value = `${SCRIPTS[at % SCRIPTS.length]}${textOf(seed + at, 20 + (at % 60))}`
    for (let copy = 0; copy < copies; copy++)
      work.push({ kind: 'put', key: `${at}/${copy}`, value })
  }
  for (let cluster = 0; cluster < clusters; cluster++) {
    const text = textOf(seed + 1_000_000 + cluster, 120)
    for (let member = 0; member < members; member++) {
      // One word of 120 takes five shingles along: all pairs are about 0.9 alike.
      const variant = member === 0 ? text : edited(text, 1, `m${lettersOf(member)}x`)
      for (let copy = 0; copy < IDENTICAL; copy++) {
        work.push({ kind: 'resolve', cluster, text: variant })
      }
    }
  }
  const again = work.filter(() => random() < redelivered)
  // Copies come close together, to different workers: that is where a race is lost.
  return [...work, ...again]
    .map((delivery) => ({ delivery, at: groupOf(delivery) + random() * GROUPS_AT_ONCE }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ delivery }) => delivery)
}
