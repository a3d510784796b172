/**
 * The runtime that computes a model: `onnxruntime-node` where it is installed and loads, else `onnxruntime-web`,
 * which is WebAssembly and runs anywhere, some four times slower. Which one it is stands in an embedder's id.
 *
 * One thread each (`intraOpNumThreads: 1`): several spin and fight for the cores, and workers do better.
 */

import { PrestigeError } from '../../platform/errors.ts'

export type RuntimeName = 'onnxruntime-node' | 'onnxruntime-web'
export type RuntimeWanted = 'auto' | 'node' | 'web'

export interface TensorLike {
  readonly data: unknown
  readonly dims: readonly number[]
}

export interface Session {
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  run(feeds: Record<string, TensorLike>): Promise<Record<string, TensorLike>>
  release(): Promise<void>
}

export interface Runtime {
  readonly name: RuntimeName
  open(model: Uint8Array): Promise<Session>
  int64(numbers: readonly number[]): TensorLike
}

/** What is used of both packages, which have the same face. */
interface Onnx {
  readonly env: { wasm?: { numThreads?: number; proxy?: boolean }; logLevel?: string }
  readonly InferenceSession: {
    create(model: Uint8Array, options: Record<string, unknown>): Promise<Session>
  }
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => TensorLike
}

/** Loads a package by name; given by tests that have one missing. */
export type Importer = (name: RuntimeName) => Promise<unknown>

// The names are written out so that bundlers see them; they are loaded here and nowhere else.
const load: Importer = (name) =>
  name === 'onnxruntime-node' ? import('onnxruntime-node') : import('onnxruntime-web')

const NAMES = {
  auto: ['onnxruntime-node', 'onnxruntime-web'],
  node: ['onnxruntime-node'],
  web: ['onnxruntime-web'],
} as const

export async function loadRuntime(
  wanted: RuntimeWanted,
  importer: Importer = load,
): Promise<Runtime> {
  const failures: unknown[] = []
  for (const name of NAMES[wanted]) {
    try {
      return runtimeOf(name, await importer(name))
    } catch (failure) {
      failures.push(failure)
    }
  }
  throw new PrestigeError(
    'MODEL_NOT_FOUND',
    `No runtime for sentence models could be loaded. Run: npm install ${NAMES[wanted].join(', or npm install ')}. ` +
      failures.map(String).join(' '),
    { cause: failures[0] },
  )
}

function runtimeOf(name: RuntimeName, loaded: unknown): Runtime {
  const found: unknown = Reflect.get(Object(loaded), 'InferenceSession')
    ? loaded
    : Reflect.get(Object(loaded), 'default')
  // safe: a package without these fails at first use, which is when the model is opened.
  const onnx = found as Onnx
  if (typeof onnx?.InferenceSession?.create !== 'function') {
    throw new Error(`${name} has no InferenceSession.`)
  }
  if (name === 'onnxruntime-web' && onnx.env.wasm) {
    onnx.env.wasm.numThreads = 1
    onnx.env.wasm.proxy = false
  }
  const options = {
    executionProviders: [name === 'onnxruntime-web' ? 'wasm' : 'cpu'],
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
  }
  return {
    name,
    open: (model) => onnx.InferenceSession.create(model, options),
    int64: (numbers) =>
      new onnx.Tensor('int64', BigInt64Array.from(numbers, BigInt), [1, numbers.length]),
  }
}
