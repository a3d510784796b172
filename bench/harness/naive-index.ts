/** The naive way to resolve: sketches, and one map of band strings, in memory alone and in one thread. */

import { hash } from 'node:crypto'

import {
  computeBands,
  equalSlots,
  jaccard,
  shingleHashes,
  sketchOf,
} from '../../src/fingerprint/index.ts'

const SLOTS = 128
const BANDS = 14
const ROWS = 8
const THRESHOLD = 0.8
/** Four standard errors below. */
const ESTIMATE_MIN = THRESHOLD - 4 * Math.sqrt((THRESHOLD * 0.2) / SLOTS)

interface Kept {
  readonly id: string
  readonly slots: Uint16Array
  readonly hashes: Uint32Array
}

export interface NaiveIndex {
  readonly resolve: (text: string) => string
  readonly lookup: (text: string) => string | undefined
}

export function sketchAlone(text: string): void {
  sketchOf(text, { profile: 'auto', slots: SLOTS })
}

export function naiveIndex(): NaiveIndex {
  const buckets = new Map<string, Kept[]>()
  const answers = new Map<string, string>()

  const search = (slots: Uint16Array, bands: readonly string[], text: string) => {
    const seen = new Set<Kept>()
    for (const band of bands) for (const kept of buckets.get(band) ?? []) seen.add(kept)
    let own: Uint32Array | undefined
    for (const kept of seen) {
      if (equalSlots(slots, kept.slots) / SLOTS < ESTIMATE_MIN) continue
      own ??= shingleHashes(text, 'auto')
      if (jaccard(own, kept.hashes) >= THRESHOLD) return kept
    }
    return undefined
  }
  const prepared = (text: string) => {
    const { slots } = sketchOf(text, { profile: 'auto', slots: SLOTS })
    const keys = computeBands(slots, BANDS, ROWS)
    return { slots, bands: Array.from(keys, (key, band) => `${band}:${key.toString(36)}`) }
  }
  return {
    resolve(text) {
      const id = hash('sha256', text, 'base64url')
      const known = answers.get(id)
      if (known !== undefined) return known
      const { slots, bands } = prepared(text)
      let found = search(slots, bands, text)
      if (!found) {
        found = { id, slots, hashes: shingleHashes(text, 'auto') }
        for (const band of bands) {
          const bucket = buckets.get(band)
          if (bucket) bucket.push(found)
          else buckets.set(band, [found])
        }
      }
      answers.set(id, found.id)
      return found.id
    },
    lookup(text) {
      const known = answers.get(hash('sha256', text, 'base64url'))
      if (known !== undefined) return known
      const { slots, bands } = prepared(text)
      return search(slots, bands, text)?.id
    },
  }
}
