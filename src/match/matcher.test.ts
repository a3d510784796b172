import { describe, expect, it } from 'vitest'

import type { Scope, Transaction } from '../backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../backends/memory/backend.ts'
import { sketchOf } from '../fingerprint/index.ts'
import { alreadyCanonical, Measured, textEvidence } from './evidence.ts'
import { MatchIndex } from './match-index.ts'
import { Matcher, type Searched } from './matcher.ts'
import { nearSpaces } from './rows.ts'
import { type TextProbe, TextScheme } from './scheme/text.ts'

const SLOTS = 64
const PROFILE = 'words-1'
const PARTITION = Buffer.alloc(16, 1)
const bytes = {
  encode: (value: Buffer) => value,
  decode: (value: Uint8Array) => Buffer.from(value),
}

/** A text of 60 words, of which so many are others. */
function textWith(others: number): Buffer {
  const words = Array.from({ length: 60 }, (_none, at) =>
    at < others ? `other${at}` : `word${at}`,
  )
  return Buffer.from(words.join(' '))
}

function probeOf(text: Buffer): TextProbe {
  return {
    partition: PARTITION,
    signature: sketchOf(text, { profile: PROFILE, slots: SLOTS }).slots,
    own: Measured.ofText(text, alreadyCanonical, PROFILE),
    profile: PROFILE,
  }
}

/** Finds what is similar to a text, of which the representatives have 2, 6 and 10 other words. */
async function search(onlyBest: boolean, refused: number | undefined) {
  const judged: string[] = []
  const scheme = new TextScheme(SLOTS, { bands: 32, rows: 2 })
  const limits = { serial: true, candidatesMax: 10, bucketMax: 100 }
  const matcher = new Matcher<TextProbe, Buffer>(
    new MatchIndex(nearSpaces('test'), scheme, limits),
    scheme,
    bytes,
    {
      similarityMin: 0.5,
      *readEvidence({ payload }): Transaction<Measured> {
        return Measured.ofEvidence(textEvidence(payload), alreadyCanonical, PROFILE)
      },
      judgement: (_own, other) => {
        const text = String(other.text)
        judged.push(text)
        const isSame = refused === undefined || text !== String(textWith(refused))
        return { isSame, vetoes: [] }
      },
    },
  )
  const backend = new MemoryBackend({}, new MemoryEngine())
  const found = await backend.run(function* (
    scope: Scope,
  ): Transaction<Searched<TextProbe, Buffer>> {
    for (const others of [10, 2, 6]) {
      const text = textWith(others)
      yield* matcher.insert(scope, PARTITION, scope.id(), probeOf(text), text)
    }
    return yield* matcher.find([probeOf(textWith(0))], scope, { onlyBest })
  })
  return { best: String(found.hits[0]?.payload), judged, compared: found.compared }
}

describe('a search that wants nothing but the best hit', () => {
  it('judges nothing that is less similar than what it has found', async () => {
    const [all, best] = [await search(false, undefined), await search(true, undefined)]
    expect(all.judged).toHaveLength(all.compared)
    expect(best.judged).toEqual([String(textWith(2))])
    expect(best.best).toBe(all.best)
  })

  it('goes on to the next one where the most similar is refused', async () => {
    const found = await search(true, 2)
    expect(found.best).toBe(String(textWith(6)))
    expect(found.judged).toEqual([textWith(2), textWith(6)].map(String))
  })
})

describe('a search that is run again with what it has measured', () => {
  it.each([
    ['is read again on shared engines: it may have been rewritten in between', false, 1],
    ['is not read again where reads are of one moment: it is damaged', true, 0],
  ] as const)('what could not be read %s', async (_, serial, hits) => {
    const scheme = new TextScheme(SLOTS, { bands: 32, rows: 2 })
    const spaces = nearSpaces('test')
    let isReadable = false
    const matcher = new Matcher<TextProbe, Buffer>(
      new MatchIndex(spaces, scheme, { serial, candidatesMax: 10, bucketMax: 100 }),
      scheme,
      bytes,
      {
        similarityMin: 0.5,
        *readEvidence({ payload }): Transaction<Measured | undefined> {
          if (!isReadable) return undefined
          return Measured.ofEvidence(textEvidence(payload), alreadyCanonical, PROFILE)
        },
      },
    )
    const backend = new MemoryBackend({}, new MemoryEngine())
    await backend.run((scope: Scope) =>
      matcher.insert(scope, PARTITION, scope.id(), probeOf(textWith(2)), textWith(2)),
    )
    const measured = new Map()
    const find = () =>
      backend.run((scope: Scope) => matcher.find([probeOf(textWith(0))], scope, { measured }))
    expect((await find()).hits).toHaveLength(0)
    isReadable = true
    expect((await find()).hits).toHaveLength(hits)
  })
})
