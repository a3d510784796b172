/**
 * Removes packs that no chunk is read from any more, though chunks did not go with them: those of a damaged pack are
 * healed in another one, or swept where nobody can say which others are in it. Whoever does that leaves a note.
 *
 * Which chunks are in a damaged pack is known only by the rows of all chunks, so those are read. Rows that point into a
 * pack are written with it and never later: where none is seen, there is none.
 */

import { type Bytes, equalBytes, latin1 } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  glance,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { countStored } from '../tallies.ts'
import { chunks, leftPacks, packs, readableChunks } from './chunk-rows.ts'

const NOTES_AT_ONCE = 10_000
const ROWS_A_SLICE = 1024

interface Noted {
  readonly pack: Buffer
  readonly note: Bytes
}

/** Yields after every slice. */
export async function* unusedPacks(backend: Backend): AsyncGenerator<void> {
  for (;;) {
    const notes: Noted[] = []
    for await (const { key, value } of backend.scan(leftPacks, { limit: NOTES_AT_ONCE }))
      notes.push({ pack: key, note: value })
    if (notes.length > 0) yield* settle(backend, notes)
    if (notes.length < NOTES_AT_ONCE) return
  }
}

async function* settle(backend: Backend, notes: readonly Noted[]): AsyncGenerator<void> {
  const unused = new Set(notes.map(({ pack }) => latin1(pack)))
  let rows = 0
  for await (const { value } of backend.scan(chunks)) {
    unused.delete(latin1(value.pack))
    if (++rows % ROWS_A_SLICE === 0) yield
  }
  for (const noted of notes) {
    const isUsed = !unused.has(latin1(noted.pack))
    const digests = isUsed ? [] : await backend.read(findDigests, noted.pack)
    await backend.run(removeUnused, { ...noted, isUsed, digests })
    yield
  }
}

/** Of the chunks in a pack that can be read. */
function* findDigests(_scope: ReadScope, pack: Buffer): Transaction<Buffer[]> {
  const [row] = yield* glance(cell(packs, pack))
  return ((row && readableChunks(row)) ?? []).map(({ digest }) => digest)
}

function* removeUnused(
  scope: Scope,
  { pack, note, isUsed, digests }: Noted & { isUsed: boolean; digests: readonly Buffer[] },
): Transaction<void> {
  const cells = digests.map((digest) => cell(chunks, digest))
  const [now, ...rows] = yield* read(cell(leftPacks, pack), ...cells)
  // One that was renewed meanwhile stays: another chunk has left the pack after we looked.
  if (!now || !equalBytes(now, note)) return
  scope.remove(cell(leftPacks, pack))
  // A verification may have restored a row that was lost, of a pack that can be read.
  if (isUsed || rows.some((row) => row && equalBytes(row.pack, pack))) return
  const [row] = yield* glance(cell(packs, pack))
  scope.rely(cell(packs, pack))
  if (!row) return
  scope.remove(cell(packs, pack))
  countStored(scope, { packBytes: -row.byteLength })
}
