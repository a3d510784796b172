/** A resolver of many representatives, made quickly: the rows of its index alone, a thousand a transaction. */

import { openResolver } from 'prestige-dedup'

import { type Scope, type Transaction } from '../../src/backends/contract.ts'
import { openLmdb } from '../../src/backends/lmdb/backend.ts'
import { randomWords } from '../../src/fingerprint/mix.ts'
import { MatchIndex } from '../../src/match/match-index.ts'
import { TextScheme } from '../../src/match/scheme/text.ts'
import { partitionKey } from '../../src/match/settings.ts'
import { resolverSpaces, textNear } from '../../src/resolve/rows.ts'
import type { Place } from './bench.ts'
import { scaled } from './data.ts'

const GROUP = 'bench'
const BATCH = 1000
const PAYLOAD = Buffer.alloc(25, 0x10)

export async function buildMillion({ directory, scale }: Place): Promise<void> {
  const resolver = await openResolver(directory, { durability: 'os' })
  const { slots, bands, rows, hashVersion } = resolver.settings.text
  await resolver.close()
  const backend = await openLmdb(directory, { spaces: resolverSpaces, durability: 'os' })
  const options = { serial: true, candidatesMax: 100, bucketMax: 1000 }
  const index = new MatchIndex(textNear, new TextScheme(slots, { bands, rows }), options)
  const shelf = partitionKey('shelf', GROUP, 'chars-3', String(slots), hashVersion)
  const next = randomWords(23)
  function* insertMany(scope: Scope, count: number): Transaction<void> {
    for (let at = 0; at < count; at++) {
      const signature = Uint16Array.from({ length: slots }, () => next() >>> 16)
      yield* index.insert(scope, shelf, scope.id(), signature, PAYLOAD)
    }
  }
  const all = scaled(1_000_000, scale)
  for (let done = 0; done < all; done += BATCH) {
    await backend.run(insertMany, Math.min(BATCH, all - done))
  }
  await backend.close()
}

/** Reads the journal, and does nothing with it. */
export async function journalOf({ directory }: Place): Promise<void> {
  const backend = await openLmdb(directory, { spaces: resolverSpaces, durability: 'os' })
  let rows = 0
  for await (const _row of backend.scan(textNear.journal)) rows++
  await backend.close()
  if (rows === 0) throw new Error('The journal is empty.')
}
