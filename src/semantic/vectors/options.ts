/**
 * How an index of vectors is made. Names of the store this one grew from are understood as well: `hnsw_m`,
 * `hnsw_ef_construction`, `hnsw_ef_search`, `semantic_search_k`.
 */

import * as v from 'valibot'

import { PrestigeError } from '../../platform/errors.ts'
import { oneOf, readOptions, type WithDefaults } from '../../platform/options.ts'

const whole = (least: number, most: number, help: string) =>
  v.pipe(
    v.number(`must be a whole number from ${least} to ${most}`),
    v.check(
      (value) => Number.isInteger(value) && value >= least && value <= most,
      `must be a whole number from ${least} to ${most}`,
    ),
    v.description(help),
  )

/** How vectors are indexed. */
export interface IndexOptions {
  /** `scan` looks at all vectors, `ivf` and `hnsw` at few of many. Default: `auto`, by the number of vectors. */
  readonly engine?: 'auto' | 'scan' | 'ivf' | 'hnsw' | undefined
  /** With `auto`, an index that begins with more vectors is `ivf`. Default: 200,000. */
  readonly scanMax?: number | undefined
  /** `hnsw`: neighbours of a vector in the graph. Default: 16. */
  readonly m?: number | undefined
  /** `hnsw`: candidates when a vector is added. Default: 128. */
  readonly efConstruction?: number | undefined
  /** `hnsw`: candidates when it is searched. Default: 64. */
  readonly efSearch?: number | undefined
  /** `hnsw`: candidates that are measured exactly; `ivf` measures up to four times as many where codes leave it open. Default: 50. */
  readonly searchK?: number | undefined
  /** `ivf`: lists that are looked through. Default: 80. */
  readonly probes?: number | undefined
}

export const indexOptions = v.strictObject({
  engine: v.optional(
    oneOf(
      ['auto', 'scan', 'ivf', 'hnsw'],
      'scan looks at all vectors, ivf and hnsw at few of many.',
    ),
    'auto',
  ),
  scanMax: v.optional(
    whole(0, 10_000_000, 'With engine auto, an index that begins with more is ivf.'),
    200_000,
  ),
  m: v.optional(whole(2, 256, 'hnsw: neighbours of a vector in the graph.'), 16),
  efConstruction: v.optional(whole(8, 4096, 'hnsw: candidates when a vector is added.'), 128),
  efSearch: v.optional(whole(8, 4096, 'hnsw: candidates when it is searched.'), 64),
  searchK: v.optional(whole(1, 4096, 'ivf and hnsw: candidates that are measured exactly.'), 50),
  probes: v.optional(whole(1, 4096, 'ivf: lists that are looked through.'), 80),
}) satisfies v.GenericSchema<IndexOptions>

/** Defaults filled in. */
export type CheckedIndexOptions = WithDefaults<IndexOptions, keyof IndexOptions>
export type GraphOptions = Pick<
  CheckedIndexOptions,
  'm' | 'efConstruction' | 'efSearch' | 'searchK'
>
export type ListOptions = Pick<CheckedIndexOptions, 'probes' | 'searchK'>

const SEED_NAMES: Readonly<Record<string, keyof IndexOptions>> = {
  hnsw_m: 'm',
  hnsw_ef_construction: 'efConstruction',
  hnsw_ef_search: 'efSearch',
  semantic_search_k: 'searchK',
}

export function readIndexOptions(
  input: Readonly<Record<string, unknown>> = {},
): CheckedIndexOptions {
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
