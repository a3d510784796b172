/**
 * How an index of vectors is made. Names of the store this one grew from are understood as well: `hnsw_m`,
 * `hnsw_ef_construction`, `hnsw_ef_search`, `semantic_search_k`.
 */

import * as v from 'valibot'

import { PrestigeError } from '../../platform/errors.ts'
import { oneOf, readOptions } from '../../platform/options.ts'

const whole = (least: number, most: number, help: string) =>
  v.pipe(
    v.number(`must be a whole number from ${least} to ${most}`),
    v.check(
      (value) => Number.isInteger(value) && value >= least && value <= most,
      `must be a whole number from ${least} to ${most}`,
    ),
    v.description(help),
  )

export const indexOptions = v.strictObject({
  engine: v.optional(
    oneOf(['auto', 'scan', 'hnsw'], 'scan looks at all vectors, hnsw at few of many.'),
    'auto',
  ),
  scanMax: v.optional(
    whole(0, 10_000_000, 'With engine auto, an index that begins with more is hnsw.'),
    200_000,
  ),
  m: v.optional(whole(2, 256, 'hnsw: neighbours of a vector in the graph.'), 16),
  efConstruction: v.optional(whole(8, 4096, 'hnsw: candidates when a vector is added.'), 128),
  efSearch: v.optional(whole(8, 4096, 'hnsw: candidates when it is searched.'), 64),
  searchK: v.optional(whole(1, 4096, 'hnsw: candidates that are measured exactly.'), 50),
})

export type IndexInput = v.InferInput<typeof indexOptions>
export type IndexOptions = v.InferOutput<typeof indexOptions>
export type GraphOptions = Pick<IndexOptions, 'm' | 'efConstruction' | 'efSearch' | 'searchK'>

const SEED_NAMES: Readonly<Record<string, keyof IndexInput>> = {
  hnsw_m: 'm',
  hnsw_ef_construction: 'efConstruction',
  hnsw_ef_search: 'efSearch',
  semantic_search_k: 'searchK',
}

export function readIndexOptions(input: Readonly<Record<string, unknown>> = {}): IndexOptions {
  const renamed: Record<string, unknown> = {}
  for (const [given, value] of Object.entries(input)) {
    const name = SEED_NAMES[given] ?? given
    if (name in renamed) {
      throw new PrestigeError('INVALID_OPTIONS', `${name} is given twice, also as ${given}.`)
    }
    renamed[name] = value
  }
  return readOptions(indexOptions, renamed, 'How to index vectors')
}
