/**
 * How texts of like meaning are found. Loaded only for stores that do so.
 *
 * Names of the store this one grew from are understood as well: `semantic_threshold`, `semantic_max_text_bytes`,
 * `semantic_search_k`, `semantic_model_path`, `semantic_judge_threshold`, `semantic_reranker_threshold`.
 */

import * as v from 'valibot'

import { PrestigeError } from '../../platform/errors.ts'
import { given, readOptions, share, type WithDefaults } from '../../platform/options.ts'
import {
  CALLBACK_TIMEOUT_MS,
  type Embedder,
  type IndexOptions,
  readIndexOptions,
} from '../../semantic/index.ts'
import { type GuardOptions, guardsOption } from '../../compare/index.ts'

/** Says whether two texts mean the same. What it throws means no. */
export type Judge = (
  a: string,
  b: string,
  similarity: number,
  options: { readonly signal: AbortSignal },
) => Promise<boolean> | boolean
/** How much alike two texts are, read together. */
export type Rerank = (
  a: string,
  b: string,
  options: { readonly signal: AbortSignal },
) => Promise<number> | number

const isFunction = (value: unknown) => typeof value === 'function'
const isObject = (value: unknown) => typeof value === 'object' && value !== null

function whole(least: number, most: number, help: string) {
  const rule = `must be a whole number from ${least} to ${most}`
  return v.pipe(
    v.number(rule),
    v.integer(rule),
    v.minValue(least, rule),
    v.maxValue(most, rule),
    v.description(help),
  )
}

/** How texts that mean the same are found. The embedder, `threshold`, `guards` and `textBytesMax` are remembered. */
export interface SemanticOptions {
  /** An embedder of one's own, the name of a model, or the directory of one. Default: `all-MiniLM-L6-v2`. */
  readonly embedder?: Embedder | string | undefined
  /** Minimum cosine of texts that mean the same: above 0, up to 1. No default for a new store: `prestige tune --semantic`. */
  readonly threshold?: number | undefined
  /** What keeps two texts apart however alike they are; `false`: nothing does. Default: all guards. */
  readonly guards?: GuardOptions | false | undefined
  /** Longer texts, in bytes, are not compared; they are never cut off. Default: 65,536. */
  readonly textBytesMax?: number | undefined
  /** The most candidates that are looked at for one text. Default: 50. */
  readonly searchK?: number | undefined
  /** How much alike two texts are, read together; given with `rerankMin`. Default: none. */
  readonly rerank?: Rerank | undefined
  /** A lower answer of `rerank` keeps two texts apart. */
  readonly rerankMin?: number | undefined
  /** Says whether two texts mean the same. Default: none. */
  readonly judge?: Judge | undefined
  /** The judge is asked from this cosine on. Default: `threshold`. */
  readonly judgeMin?: number | undefined
  /** From this cosine on the judge is not asked. Default: 1. */
  readonly judgeMax?: number | undefined
  /** The most questions to the judge for one text. Default: 3. */
  readonly judgeCallsMax?: number | undefined
  /** A judge that takes longer, in milliseconds, said no. Default: 30,000. */
  readonly judgeTimeoutMs?: number | undefined
  /** An embedder or reranker that takes longer, in milliseconds, has failed. Default: 60,000. */
  readonly callbackTimeoutMs?: number | undefined
  /** How vectors are indexed. Default: by their number. */
  readonly index?: IndexOptions | undefined
}

/** Defaults filled in. */
export type CheckedSemanticOptions = WithDefaults<
  SemanticOptions,
  'searchK' | 'judgeMax' | 'judgeCallsMax' | 'judgeTimeoutMs' | 'callbackTimeoutMs' | 'index'
>

export const semanticOptions = v.strictObject({
  embedder: v.optional(
    given<Embedder | string>(
      (value) => typeof value === 'string' || isObject(value),
      'an embedder, the name of a model, or the directory of one',
    ),
  ),
  threshold: v.optional(share('Texts of at least this cosine are the same, unless vetoed.')),
  guards: guardsOption,
  textBytesMax: v.optional(
    whole(1, 16 * 1024 * 1024, 'Longer texts are not compared (65,536); they are never cut off.'),
  ),
  searchK: v.optional(whole(1, 4096, 'The most candidates that are looked at (50).'), 50),
  rerank: v.optional(given<Rerank>(isFunction, 'a function of two texts that returns a number')),
  rerankMin: v.optional(v.number('must be a number')),
  judge: v.optional(given<Judge>(isFunction, 'a function of two texts that returns true or false')),
  judgeMin: v.optional(share('The judge is asked from here (threshold).')),
  judgeMax: v.optional(share('From here on it is not asked (1).'), 1),
  judgeCallsMax: v.optional(whole(0, 100, 'The most questions to the judge for one text (3).'), 3),
  judgeTimeoutMs: v.optional(
    whole(1, 3_600_000, 'A judge that takes longer said no (30,000).'),
    30_000,
  ),
  callbackTimeoutMs: v.optional(
    whole(
      1,
      3_600_000,
      'An embedder or reranker that does not answer for so long failed (60,000).',
    ),
    CALLBACK_TIMEOUT_MS,
  ),
  index: v.optional(given<IndexOptions>(isObject, 'how vectors are indexed'), {}),
}) satisfies v.GenericSchema<SemanticOptions>

const SEED_NAMES: Readonly<Record<string, keyof SemanticOptions>> = {
  semantic_threshold: 'threshold',
  semantic_max_text_bytes: 'textBytesMax',
  semantic_search_k: 'searchK',
  semantic_model_path: 'embedder',
  semantic_judge_threshold: 'judgeMin',
  semantic_reranker_threshold: 'rerankMin',
}

export function readSemantic(input: object | undefined): CheckedSemanticOptions {
  const renamed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input ?? {})) {
    const own = SEED_NAMES[name] ?? name
    if (own in renamed) throw refusal(`semantic.${own} is given twice, also as ${name}.`)
    renamed[own] = value
  }
  const read = readOptions(semanticOptions, renamed, 'Semantic options')
  readIndexOptions({ ...read.index })
  const { rerank, rerankMin, judge, judgeMin, judgeMax, threshold } = read
  if ((rerank === undefined) !== (rerankMin === undefined)) {
    throw refusal('Give both semantic.rerank and semantic.rerankMin, or neither.')
  }
  if (judge === undefined && judgeMin !== undefined) {
    throw refusal('semantic.judgeMin does nothing without semantic.judge.')
  }
  const least = judgeMin ?? threshold ?? 0
  if (least > judgeMax || least > (threshold ?? 1)) {
    throw refusal('semantic.judgeMin is at most semantic.threshold, and at most judgeMax.')
  }
  return read
}

/** No value fits all models and texts. */
export function requireThreshold(threshold: number | undefined): number {
  if (threshold !== undefined) return threshold
  throw refusal(
    'semantic.threshold is missing, and no value fits all models and texts. Give it, or find yours with `prestige tune --semantic --pairs FILE`.',
  )
}

function refusal(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}
