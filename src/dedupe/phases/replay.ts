/**
 * Documents of earlier runs that are decided about again without reading their inputs: what was read of them, and where
 * their texts are packed. Written before those runs are taken back (collect-replays.ts), and removed when the run that
 * redoes them ends, together with their packs.
 *
 * Key: run, `/`, shard (4): all of the shard is there. Run, `/`, shard (4) and position (4): documents and rejects from
 * there on.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { type Bytes, EMPTY, endOfPrefix } from '../../platform/bytes.ts'
import { type Backend, cell, glance, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { decodePack } from '../decision/pack-row.ts'
import { packPrefix } from '../decision/packs.ts'
import { packs, replays, runPrefix, shardKey } from '../rows.ts'
import { isTakenBack, listRuns, type RunHead } from '../runs.ts'
import type { ReplayedItem, StoredDocument, StoredItem } from './shard-batches.ts'
import { clearRows } from './undo.ts'

/** Documents and rejects of a shard that are in the state. */
export type Replay = AsyncGenerator<readonly ReplayedItem[]>

/** Packs that were inflated last: 32 MB of texts. */
const INFLATED_MAX = 512

/** What the state has of a shard, from a position on; `undefined`: it does not suffice. */
export async function replayOf(
  backend: Backend,
  { id, redoes }: Pick<RunHead, 'id' | 'redoes'>,
  shard: number,
  from: number,
): Promise<Replay | undefined> {
  if (!redoes || !(await isReplayed(backend, id, shard))) return undefined
  return replayed(backend, id, shard, from)
}

/** Whether a shard of a run is decided about from the state. */
export function isReplayed(backend: Backend, run: string, shard: number): Promise<boolean> {
  return backend.read(findHead, run, shard)
}

function* findHead(_scope: unknown, run: string, shard: number): Transaction<boolean> {
  return (yield* glance(cell(replays, shardKey(run, shard))))[0] !== undefined
}

async function* replayed(backend: Backend, run: string, shard: number, from: number): Replay {
  const texts = new PackedTexts(backend)
  const range = { start: shardKey(run, shard, 0), end: endOfPrefix(shardKey(run, shard)) }
  for await (const { value } of backend.scan(replays, range)) {
    const stored = value as readonly StoredItem[] // safe: only collectReplays writes these rows
    const items: ReplayedItem[] = []
    for (const item of stored) {
      if (item.position < from) continue
      items.push('reason' in item ? item : { ...item, utf8: await texts.of(item) })
    }
    if (items.length > 0) yield items
    await nextTurn()
  }
}

class PackedTexts {
  readonly #backend: Backend
  readonly #inflated = new Map<string, readonly Bytes[]>()

  constructor(backend: Backend) {
    this.#backend = backend
  }

  /** In memory of its own: what is sent to another thread takes all of its memory along. */
  async of({ id, packed }: StoredDocument): Promise<Uint8Array> {
    if (!packed) return EMPTY
    const text = (await this.#pack(packed[0]))[packed[1]]
    if (text && text.byteLength > 0) return new Uint8Array(text)
    throw new PrestigeError(
      'CONTENT_CORRUPT',
      `The text of document ${id} is missing in the state. Undo this run, and give the command again: inputs are read then.`,
    )
  }

  async #pack(key: string): Promise<readonly Bytes[]> {
    const known = this.#inflated.get(key)
    if (known) return known
    const row = await this.#backend.read(findPack, Buffer.from(key, 'hex'))
    const texts = row ? decodePack(row) : []
    this.#inflated.set(key, texts)
    const [oldest] = this.#inflated.keys()
    if (this.#inflated.size > INFLATED_MAX && oldest !== undefined) this.#inflated.delete(oldest)
    return texts
  }
}

function* findPack(_scope: unknown, key: Buffer): Transaction<Bytes | undefined> {
  return (yield* glance(cell(packs, key)))[0]
}

/** Everything is decided about, or the run is taken back: nothing is replayed any more. */
export async function dropReplays(
  backend: Backend,
  { id, redoes = [] }: Pick<RunHead, 'id' | 'redoes'>,
): Promise<void> {
  await clearRows(backend, replays, runPrefix(id))
  if (redoes.length === 0) return
  for (const run of await listRuns(backend)) {
    // Those that are not taken back yet still need them.
    if (redoes.includes(run.id) && isTakenBack(run)) {
      await clearRows(backend, packs, packPrefix(run.number))
    }
  }
}
