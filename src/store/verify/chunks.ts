/**
 * Checks chunks and packs: every pack is as it was written, something points into it, and every chunk that a recipe
 * names has a row. A row that is lost is written again where a pack has the chunk. Before the contents: they are read by
 * these rows.
 *
 * Chunks that no recipe names are no problem: the collector takes them away.
 */

import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import {
  cell,
  glance,
  ID_BYTES,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { DIGEST_BYTES } from '../../fingerprint/index.ts'
import { chunks, isWholePack, type PackedChunk, readableChunks } from '../contents/chunk-rows.ts'
import { LiveDigests } from '../contents/live-digests.ts'
import { hex } from '../receipt.ts'
import { countStored } from '../tallies.ts'
import { chunkRowOf, raw, recipeOf } from './raw.ts'
import { rowName, type Walk } from './walk.ts'

export async function walkChunks(walk: Walk): Promise<void> {
  if (!walk.how.layout.chunks) return
  const live = new LiveDigests()
  for await (const { value } of walk.scan(raw.recipes)) {
    for (const { digest } of recipeOf(value)?.chunks ?? []) live.add(digest)
  }
  for await (const { key, value } of walk.scan(raw.packs)) {
    if (key.byteLength === ID_BYTES) await examinePack(walk, key, value, live)
    else await walk.foundUnaccounted(raw.packs, key, 'is not the id of a pack.')
  }
  for await (const { key } of walk.scan(raw.leftPacks)) {
    if (key.byteLength !== ID_BYTES)
      await walk.foundUnaccounted(raw.leftPacks, key, 'is not the note of a pack.')
  }
  for await (const { key, value } of walk.scan(raw.chunks)) {
    if (key.byteLength !== DIGEST_BYTES)
      await walk.foundUnaccounted(raw.chunks, key, 'is not a digest.')
    else if (!chunkRowOf(value)) await foundUnreadable(walk, key)
  }
}

async function examinePack(walk: Walk, id: Buffer, row: Bytes, live: LiveDigests): Promise<void> {
  const inside = isWholePack(row) ? readableChunks(row) : undefined
  if (!inside) return foundDamaged(walk, id, row)
  for (const chunk of inside) {
    const found = await walk.look(raw.chunks, chunk.digest)
    if (chunkRowOf(found) || !live.has(chunk.digest)) continue
    const message = `Nothing says where chunk ${hex(chunk.digest)} is, and pack ${hex(id)} has it.`
    await walk.found('chunk-lost', message, [], () => walk.backend.run(restore, id, chunk))
  }
  const digests = inside.map(({ digest }) => digest)
  if (await walk.backend.read(isUnused, id, digests)) {
    const repair = (scope: Scope) => removePack(scope, id, row)
    const isWrong = (scope: ReadScope) => isUnused(scope, id, digests)
    await walk.foundWrong(raw.packs, id, 'has no chunk that is in use.', isWrong, { repair })
  }
}

/** Whoever puts a value again writes new packs, so one that nothing points into never comes into use again. */
async function foundDamaged(walk: Walk, id: Buffer, row: Bytes): Promise<void> {
  const damaged = `Pack ${hex(id)} is damaged.`
  for await (const { value } of walk.scan(raw.chunks)) {
    if (!pointsAt(value, id)) continue
    const message = `${damaged} Values that have chunks in it are lost unless they are put again.`
    return walk.found('pack-damaged', message)
  }
  const message = `${damaged} No value has chunks in it.`
  await walk.found('pack-damaged', message, [], () => walk.backend.run(removePack, id, row))
}

/** Nothing points into it. A pack goes with its last chunk, so it never comes into use again. */
function* isUnused(scope: ReadScope, id: Buffer, digests: readonly Buffer[]): Transaction<boolean> {
  const rows = yield* read(...digests.map((digest) => cell(raw.chunks, digest)))
  const [pack] = yield* glance(cell(raw.packs, id))
  scope.rely(cell(raw.packs, id))
  return pack !== undefined && rows.every((row) => !pointsAt(row, id))
}

/** A row that cannot be read may point anywhere. */
function pointsAt(row: Bytes | undefined, id: Buffer): boolean {
  const found = chunkRowOf(row)
  return row !== undefined && (!found || equalBytes(found.pack, id))
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* removePack(scope: Scope, id: Buffer, row: Bytes): Transaction<boolean> {
  scope.remove(cell(raw.packs, id))
  countStored(scope, { packBytes: -row.byteLength })
  return true
}

function* restore(
  scope: Scope,
  pack: Buffer,
  { digest, offset, value }: PackedChunk,
): Transaction<boolean> {
  const [now, row] = yield* read(cell(raw.chunks, digest), cell(raw.packs, pack))
  scope.rely(cell(raw.packs, pack))
  if (chunkRowOf(now)) return true
  if (row === undefined) return false
  const bytes = value.byteLength
  scope.write(cell(chunks, digest), { pack, offset, bytes, mark: undefined })
  return true
}

async function foundUnreadable(walk: Walk, digest: Buffer): Promise<void> {
  const message = `${rowName(raw.chunks, digest)} cannot be read.`
  const repair = function* (scope: Scope): Transaction<boolean> {
    const [row] = yield* read(cell(raw.chunks, digest))
    if (row && !chunkRowOf(row)) scope.remove(cell(raw.chunks, digest))
    return true
  }
  await walk.found('row-unreadable', message, [], () => walk.backend.run(repair))
}
