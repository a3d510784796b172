/**
 * Builds the ONNX graph of a BERT encoder around weights that came as safetensors: embeddings, then layers of
 * attention and feed-forward, each with its norm. Numbers of half precision are computed with as singles.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { PrestigeError } from '../../platform/errors.ts'
import { bytes, float, integer, message, type Message, text, whole } from './protobuf.ts'
import { Safetensors, type Tensor } from './safetensors.ts'

const FLOAT = 1
const INT64 = 7
const IR_VERSION = 9
const OPSET = 20
const LEAST = -3.4e38

interface Shape {
  readonly hidden: number
  readonly heads: number
  readonly layers: number
  readonly epsilon: number
}

/** The bytes of an ONNX model. */
export function graphOf(weights: Buffer, directory: string): Uint8Array {
  return new EncoderGraph(new Safetensors(weights), shapeOf(directory)).build()
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
  readonly #nodes: Message[] = []
  readonly #initializers: Message[] = []
  #count = 0

  constructor(weights: Safetensors, shape: Shape) {
    this.#weights = weights
    this.#shape = shape
  }

  build(): Uint8Array {
    let state = this.#embeddings()
    const mask = this.#mask()
    for (let layer = 0; layer < this.#shape.layers; layer++) state = this.#layer(layer, state, mask)
    this.#nodes.push(node('Identity', [state], 'last_hidden_state'))
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
    const matrix = this.#tensor(`${name}.weight`, this.#weights.readTransposed(`${name}.weight`))
    const product = this.#node('MatMul', [input, matrix])
    return this.#node('Add', [product, this.#weight(`${name}.bias`)])
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
    this.#nodes.push(node(type, inputs, output, ...attributes))
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
    const raw = Buffer.from(BigInt64Array.from(values, BigInt).buffer)
    const dims = integer(1, values.length)
    this.#initializers.push(message(5, dims, integer(2, INT64), text(8, name), bytes(9, raw)))
    return name
  }

  #tensor(name: string, { shape, numbers }: Tensor): string {
    const raw = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
    const dims = shape.map((size) => integer(1, size))
    this.#initializers.push(message(5, ...dims, integer(2, FLOAT), text(8, name), bytes(9, raw)))
    return name
  }
}

function node(
  type: string,
  inputs: readonly string[],
  output: string,
  ...attributes: readonly Message[]
): Message {
  const names = inputs.map((input) => text(1, input))
  return message(1, ...names, text(2, output), text(3, output), text(4, type), ...attributes)
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
