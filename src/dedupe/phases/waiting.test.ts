/** What waits is cut to the size of rows, and put together again; what is cut off is never taken for whole. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import type { Row } from '../../backends/contract.ts'
import type { Bytes } from '../../platform/bytes.ts'
import { readConfig } from '../config/config.ts'
import { Preparer } from '../decision/prepare.ts'
import { type Batch, partsOf } from './shard-batches.ts'
import { decodeWaiting, encodeWaiting, pendingKey, waitingBytes } from './waiting.ts'

const preparer = new Preparer(readConfig({}))
const document = (id: string, text: string) => preparer.prepare({ id, text })

async function* given(rows: readonly Row<Bytes>[]): AsyncGenerator<Row<Bytes>> {
  yield* rows
}

async function decoded(rows: readonly Row<Bytes>[]) {
  const all: string[] = []
  for await (const { waiting } of decodeWaiting(given(rows))) {
    all.push(`${waiting.document.id} ${waiting.shard} ${waiting.position}`)
    expect(waiting.document.looks.length).toBeGreaterThan(0)
  }
  return all
}

describe('documents that wait', () => {
  const docs = ['नमस्ते', '今天天气', 'one'].map((id, at) => {
    const waiting = { document: document(id, `${id} and a few words more`), shard: 7, position: at }
    return { waiting, key: pendingKey('run', [at], waiting.document, 7, at) }
  })
  const texts = ['नमस्ते 7 0', '今天天气 7 1', 'one 7 2']

  it.each([64, 700, 1_000_000])('are whole again after being cut to %i bytes', async (max) => {
    const rows = docs.flatMap(({ key, waiting }) => encodeWaiting(key, waiting, max))
    expect(rows.every(({ value }) => value.byteLength <= max)).toBe(true)
    expect(await decoded(rows)).toEqual(texts)
  })

  it('are not taken for whole when a part is missing', async () => {
    const rows = docs.flatMap(({ key, waiting }) => encodeWaiting(key, waiting, 200))
    for (const [at] of rows.entries()) {
      const torn = decoded(rows.toSpliced(at, 1))
      await expect(torn).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
    }
  })

  it('take no more bytes than was thought', () => {
    for (const { key, waiting } of docs) {
      const [row] = encodeWaiting(key, waiting, 1_000_000)
      expect(row!.value.byteLength).toBeLessThan(waitingBytes(waiting.document))
    }
  })
})

describe('a batch in parts', () => {
  it('has the same documents and rejects, in order, without a gap', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 12 }), fc.boolean(), (kinds, isLast) => {
        const from = 5
        const placed = kinds.flatMap((isDocument, at) =>
          isDocument ? [{ document: document(`d${at}`, 'text'), position: from + at }] : [],
        )
        const rejected = kinds.flatMap((isDocument, at) =>
          isDocument
            ? []
            : [
                {
                  position: from + at,
                  line: 1,
                  reason: 'invalid-json' as const,
                  message: '',
                  sample: '',
                },
              ],
        )
        const upTo = from + kinds.length
        const batch: Batch = { shard: 3, placed, rejected, packs: [], upTo, isLast, from }
        for (const parts of [partsOf(batch, () => 1, 3), partsOf(batch, () => Infinity, 1)]) {
          expect(parts.flatMap((part) => part.placed)).toEqual(placed)
          expect(parts.flatMap((part) => part.rejected)).toEqual(rejected)
          expect(parts[0]!.from).toBe(from)
          expect(parts.at(-1)!.upTo).toBe(upTo)
          parts.slice(1).forEach((part, at) => expect(part.from).toBe(parts[at]!.upTo))
          expect(parts.map((part) => part.isLast)).toEqual(
            parts.map((_, at) => isLast && at === parts.length - 1),
          )
        }
        for (const { placed: own } of partsOf(batch, () => Infinity, 1)) {
          expect(own.length).toBeLessThan(2)
        }
      }),
    )
  })
})
