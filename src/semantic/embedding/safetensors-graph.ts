/**
 * Builds the ONNX graph of a BERT encoder around weights that came as safetensors: embeddings, then layers of
 * attention and feed-forward, each with its norm. Numbers of half precision are computed with as singles.
 *
 * Of `int8`, the matrices of layers are quantised here, each column by a scale of its own, to seven bits: processors
 * without VNNI add pairs of products in sixteen bits, which eight would exceed, and vectors would depend on the
 * processor. Inputs of a matrix are quantised as the model runs, each by its own range. Sums are of whole numbers, so
 * their order does not matter.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { PrestigeError } from '../../platform/errors.ts'
import { bytes, float, integer, message, type Message, text, whole } from './protobuf.ts'
import { Safetensors, type Tensor } from './safetensors.ts'

const FLOAT = 1
const INT8 = 3
const INT64 = 7
const IR_VERSION = 9
const OPSET = 20
const LEAST = -3.4e38
/** Of a weight of seven bits with a sign. */
const QUANTISED_MAX = 63

interface Shape {
  readonly hidden: number
  readonly heads: number
  readonly layers: number
  readonly epsilon: number
}

/** What matrices are multiplied in. */
export type Arithmetic = 'fp32' | 'int8'

/** The bytes of an ONNX model. */
export function graphOf(
  weights: Buffer,
  directory: string,
  arithmetic: Arithmetic = 'fp32',
): Uint8Array {
  return new EncoderGraph(new Safetensors(weights), shapeOf(directory), arithmetic).build()
}

function shapeOf(directory: string): Shape {
  const path = join(directory, 'config.json')
  const config: Record<string, unknown> = JSON.parse(readFileSync(path, 'utf8'))
  const number = (name: string) => {
    const value = config[name]
    if (typeof value === 'number' && value > 0) return value
    throw new PrestigeError('MODEL_CORRUPT', `${path} does not tell ${name}.`)
  }
  return {
    hidden: number('hidden_size'),
    heads: number('num_attention_heads'),
    layers: number('num_hidden_layers'),
    epsilon: number('layer_norm_eps'),
  }
}

class EncoderGraph {
  readonly #weights: Safetensors
  readonly #shape: Shape
  readonly #arithmetic: Arithmetic
  readonly #nodes: Message[] = []
  readonly #initializers: Message[] = []
  /** What was quantised before: query, key and value have one input. */
  readonly #quantised = new Map<string, QuantisedInput>()
  #count = 0

  constructor(weights: Safetensors, shape: Shape, arithmetic: Arithmetic) {
    this.#weights = weights
    this.#shape = shape
    this.#arithmetic = arithmetic
  }

  build(): Uint8Array {
    let state = this.#embeddings()
    const mask = this.#mask()
    for (let layer = 0; layer < this.#shape.layers; layer++) state = this.#layer(layer, state, mask)
    this.#nodes.push(node('Identity', [state], ['last_hidden_state']))
    const inputs = ['input_ids', 'attention_mask', 'token_type_ids']
    const graph = message(
      7,
      ...this.#nodes,
      text(2, 'encoder'),
      ...this.#initializers,
      ...inputs.map((name) => valueInfo(11, name, INT64, ['batch', 'tokens'])),
      valueInfo(12, 'last_hidden_state', FLOAT, ['batch', 'tokens', this.#shape.hidden]),
    )
    return whole(integer(1, IR_VERSION), message(8, text(1, ''), integer(2, OPSET)), graph)
  }

  #embeddings(): string {
    const words = this.#weight('embeddings.word_embeddings.weight')
    const positions = this.#weight('embeddings.position_embeddings.weight')
    const types = this.#weight('embeddings.token_type_embeddings.weight')
    const length = this.#node('Shape', ['input_ids'], integerAttribute('start', 1), end2)
    const used = this.#node('Slice', [positions, this.#integers([0]), length, this.#integers([0])])
    const both = this.#node('Add', [
      this.#node('Gather', [words, 'input_ids']),
      this.#node('Gather', [types, 'token_type_ids']),
    ])
    return this.#norm(this.#node('Add', [both, used]), 'embeddings.LayerNorm')
  }

  /** 0 where a token counts, and as low as can be where it does not. */
  #mask(): string {
    const kept = this.#node('Cast', ['attention_mask'], integerAttribute('to', FLOAT))
    const absent = this.#node('Sub', [this.#number(1), kept])
    const scaled = this.#node('Mul', [absent, this.#number(LEAST)])
    return this.#node('Unsqueeze', [scaled, this.#integers([1, 2])])
  }

  #layer(layer: number, state: string, mask: string): string {
    const name = `encoder.layer.${layer}`
    const heard = this.#attention(`${name}.attention`, state, mask)
    const attended = this.#norm(
      this.#node('Add', [this.#linear(`${name}.attention.output.dense`, heard), state]),
      `${name}.attention.output.LayerNorm`,
    )
    const wide = this.#node('Gelu', [this.#linear(`${name}.intermediate.dense`, attended)])
    return this.#norm(
      this.#node('Add', [this.#linear(`${name}.output.dense`, wide), attended]),
      `${name}.output.LayerNorm`,
    )
  }

  #attention(name: string, state: string, mask: string): string {
    const { hidden, heads } = this.#shape
    const split = this.#integers([0, 0, heads, hidden / heads])
    const part = (kind: string, order: readonly number[]) =>
      this.#node(
        'Transpose',
        [this.#node('Reshape', [this.#linear(`${name}.self.${kind}`, state), split])],
        integersAttribute('perm', order),
      )
    const query = part('query', [0, 2, 1, 3])
    const key = part('key', [0, 2, 3, 1])
    const value = part('value', [0, 2, 1, 3])
    const scale = this.#number(1 / Math.sqrt(hidden / heads))
    const scores = this.#node('Mul', [this.#node('MatMul', [query, key]), scale])
    const shares = this.#node(
      'Softmax',
      [this.#node('Add', [scores, mask])],
      integerAttribute('axis', -1),
    )
    const heard = this.#node(
      'Transpose',
      [this.#node('MatMul', [shares, value])],
      integersAttribute('perm', [0, 2, 1, 3]),
    )
    return this.#node('Reshape', [heard, this.#integers([0, 0, hidden])])
  }

  #linear(name: string, input: string): string {
    const weight = this.#weights.readTransposed(`${name}.weight`)
    const product =
      this.#arithmetic === 'int8'
        ? this.#productOfIntegers(name, input, quantisedColumns(weight))
        : this.#node('MatMul', [input, this.#tensor(`${name}.weight`, weight)])
    return this.#node('Add', [product, this.#weight(`${name}.bias`)])
  }

  #productOfIntegers(name: string, input: string, { shape, integers, scales }: Quantised): string {
    const { values, scale, zero } = this.#quantisedInput(input)
    const matrix = this.#initializer(`${name}.weight`, shape, INT8, integers)
    const sums = this.#node('MatMulInteger', [values, matrix, zero])
    const numbers = this.#node('Cast', [sums], integerAttribute('to', FLOAT))
    const columns = this.#tensor(`${name}.scales`, { shape: [scales.length], numbers: scales })
    return this.#node('Mul', [numbers, this.#node('Mul', [scale, columns])])
  }

  #quantisedInput(input: string): QuantisedInput {
    const known = this.#quantised.get(input)
    if (known) return known
    const at = this.#count++
    const made = { values: `quantised_${at}`, scale: `scale_${at}`, zero: `zero_${at}` }
    this.#nodes.push(node('DynamicQuantizeLinear', [input], [made.values, made.scale, made.zero]))
    this.#quantised.set(input, made)
    return made
  }

  #norm(input: string, name: string): string {
    return this.#node(
      'LayerNormalization',
      [input, this.#weight(`${name}.weight`), this.#weight(`${name}.bias`)],
      integerAttribute('axis', -1),
      message(5, text(1, 'epsilon'), float(2, this.#shape.epsilon), integer(20, 1)),
    )
  }

  #node(type: string, inputs: readonly string[], ...attributes: readonly Message[]): string {
    const output = `${type}_${this.#count++}`
    this.#nodes.push(node(type, inputs, [output], ...attributes))
    return output
  }

  #weight(name: string): string {
    return this.#tensor(name, this.#weights.read(name))
  }

  #number(value: number): string {
    return this.#tensor(`number_${this.#count++}`, {
      shape: [],
      numbers: Float32Array.of(value),
    })
  }

  #integers(values: readonly number[]): string {
    const name = `integers_${this.#count++}`
    return this.#initializer(name, [values.length], INT64, BigInt64Array.from(values, BigInt))
  }

  #tensor(name: string, { shape, numbers }: Tensor): string {
    return this.#initializer(name, shape, FLOAT, numbers)
  }

  #initializer(
    name: string,
    shape: readonly number[],
    type: number,
    { buffer, byteOffset, byteLength }: ArrayBufferView,
  ): string {
    const raw = new Uint8Array(buffer, byteOffset, byteLength)
    const dims = shape.map((size) => integer(1, size))
    this.#initializers.push(message(5, ...dims, integer(2, type), text(8, name), bytes(9, raw)))
    return name
  }
}

interface QuantisedInput {
  readonly values: string
  readonly scale: string
  readonly zero: string
}

interface Quantised {
  readonly shape: readonly number[]
  readonly integers: Int8Array
  readonly scales: Float32Array
}

/** Row by row; a column of zeros stays one. */
function quantisedColumns({ shape, numbers }: Tensor): Quantised {
  const columns = shape[1] ?? 0
  const scales = new Float32Array(columns)
  const integers = new Int8Array(numbers.length)
  // Plain loops: there are ten million numbers, and whoever opens the model waits.
  for (let at = 0; at < numbers.length; at++) {
    const size = Math.abs(numbers[at] ?? 0) / QUANTISED_MAX
    if (size > (scales[at % columns] ?? 0)) scales[at % columns] = size
  }
  for (let at = 0; at < numbers.length; at++) {
    const scale = scales[at % columns] ?? 0
    if (scale > 0) integers[at] = Math.round((numbers[at] ?? 0) / scale)
  }
  return { shape, integers, scales }
}

function node(
  type: string,
  inputs: readonly string[],
  outputs: readonly string[],
  ...attributes: readonly Message[]
): Message {
  const names = [
    ...inputs.map((input) => text(1, input)),
    ...outputs.map((output) => text(2, output)),
  ]
  return message(1, ...names, text(3, outputs[0] ?? type), text(4, type), ...attributes)
}

function integerAttribute(name: string, value: number): Message {
  return message(5, text(1, name), integer(3, value), integer(20, 2))
}

function integersAttribute(name: string, values: readonly number[]): Message {
  return message(5, text(1, name), ...values.map((value) => integer(8, value)), integer(20, 7))
}

const end2 = integerAttribute('end', 2)

/** A dimension is a number, or the name of one that is known when the model runs. */
function valueInfo(
  field: number,
  name: string,
  type: number,
  dimensions: readonly (string | number)[],
): Message {
  const shape = dimensions.map((one) =>
    message(1, typeof one === 'number' ? integer(1, one) : text(2, one)),
  )
  return message(
    field,
    text(1, name),
    message(2, message(1, integer(1, type), message(2, ...shape))),
  )
}
