/**
 * Kills a process that puts streams with SIGKILL at random moments, again and again on one store, and checks after every
 * death: nothing of them can be seen, what was stored is as it was, verify is clean; and, once their lease is over, a
 * collection leaves not a byte of them.
 */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { seededRandom } from '../../src/exports/backend.ts'
import { openStore } from '../../src/index.ts'
import { writeAndKill } from './crash-rounds.ts'

const WRITER = fileURLToPath(new URL('../children/stream-writer.mjs', import.meta.url))
const KEPT_BYTES = 3_000_000
/** Longer than the lease of a put that is under way. */
const LATER_MS = 2 * 60 * 60 * 1000

export interface StreamReport {
  readonly rounds: number
  /** Bytes of streams that were cut off, as they were stored. */
  readonly leftBytes: number
}

export async function streamRounds(
  directory: string,
  { rounds, seed }: { readonly rounds: number; readonly seed: number },
): Promise<StreamReport> {
  const random = seededRandom(seed)
  const [location, file] = [join(directory, 'store'), join(directory, 'kept')]
  const kept = randomBytes(KEPT_BYTES)
  await writeFile(file, kept)
  const chunks = { averageBytes: 4096 }
  let before = 0
  {
    await using store = await openStore(location, { durability: 'os', chunks })
    await store.put('kept', kept)
    before = (await store.stats()).storedBytes
  }
  let leftBytes = 0
  for (let round = 0; round < rounds; round++) {
    await writeAndKill(WRITER, [location, round % 2 === 0 ? 'os' : 'fsync', file], random() * 400)
    const clock = () => Date.now() + LATER_MS
    await using store = await openStore(location, { durability: 'os', clock })
    leftBytes += (await store.stats()).storedBytes - before
    const keys: string[] = []
    for await (const key of store.keys()) keys.push(key.toString())
    assert.deepEqual(keys, ['kept'])
    // Chunks have two collections to go: one marks what nobody has, the next one takes it.
    for (let at = 0; at < 3; at++) await store.collect()
    assert.ok((await store.get('kept'))?.equals(kept))
    assert.deepEqual((await store.verify()).problems, [])
    assert.equal((await store.stats()).storedBytes, before)
  }
  return { rounds, leftBytes }
}
