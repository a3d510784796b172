/**
 * How texts of like meaning are found. Loaded only for stores that do so.
 *
 * Names of the store this one grew from are understood as well: `semantic_threshold`, `semantic_max_text_bytes`,
 * `semantic_search_k`, `semantic_model_path`, `semantic_judge_threshold`, `semantic_reranker_threshold`.
 */

import * as v from 'valibot'

import { PrestigeError } from '../../platform/errors.ts'
import { given, readOptions, share } from '../../platform/options.ts'
import {
  CALLBACK_TIMEOUT_MS,
  type Embedder,
  type GuardInput,
  type IndexInput,
} from '../../semantic/index.ts'

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

export const semanticOptions = v.strictObject({
  embedder: v.optional(
    given<Embedder | string>(
      (value) => typeof value === 'string' || isObject(value),
      'an embedder, the name of a model, or the directory of one',
    ),
  ),
  threshold: v.optional(share('Texts of at least this cosine are the same, unless vetoed.')),
  guards: v.optional(
    given<GuardInput | false>((value) => value === false || isObject(value), 'guards, or false'),
  ),
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
  index: v.optional(given<IndexInput>(isObject, 'how vectors are indexed'), {}),
})

export type SemanticInput = v.InferInput<typeof semanticOptions>
export type SemanticOptions = v.InferOutput<typeof semanticOptions>

const SEED_NAMES: Readonly<Record<string, keyof SemanticInput>> = {
  semantic_threshold: 'threshold',
  semantic_max_text_bytes: 'textBytesMax',
  semantic_search_k: 'searchK',
  semantic_model_path: 'embedder',
  semantic_judge_threshold: 'judgeMin',
  semantic_reranker_threshold: 'rerankMin',
}

export function readSemantic(input: object | undefined): SemanticOptions {
  const renamed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input ?? {})) {
    const own = SEED_NAMES[name] ?? name
    if (own in renamed) throw refusal(`semantic.${own} is given twice, also as ${name}.`)
    renamed[own] = value
  }
  const read = readOptions(semanticOptions, renamed, 'Semantic options')
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
