/**
 * Contents that are to be decided about: their representative is gone, or the embedder became another. Each is looked
 * at by its stored vectors, linked to what it means now, or made a representative. Noted in the transaction that took
 * the representative away, so a crash delays it at most until the next collection.
 */

import { type Bytes, endOfPrefix, equalBytes } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { linkedKey, links } from '../near/rows.ts'
import { digests } from '../rows.ts'
import {
  type Meaning,
  MEANT_LINKS,
  type MeantContent,
  type StoreSemantic,
} from './store-semantic.ts'
import type { NotCompared } from '../near/store-near.ts'
import { meant, meantLinked, meantOrphaned, meantPending } from './rows.ts'

/** Rounds after which a content is left for the next collection. */
const ROUNDS_MAX = 100

/** Returns how many were re-evaluated. */
export async function adoptMeanings(backend: Backend, semantic: StoreSemantic): Promise<number> {
  for await (const { key: gone } of backend.scan(meantOrphaned)) {
    const range = { start: gone, end: endOfPrefix(gone) }
    for await (const { key, value: digest } of backend.scan(meantLinked, range)) {
      await backend.run(unlink, gone, key.subarray(gone.byteLength), Buffer.from(digest))
    }
    await backend.run(dropOrphaned, gone)
  }
  let decided = 0
  for await (const { key: id, value: digest } of backend.scan(meantPending)) {
    if (await decidePending(backend, semantic, id, Buffer.from(digest))) decided++
  }
  return decided
}

/** Whether it is decided. Without its vectors, and without an embedder, it is left. */
async function decidePending(
  backend: Backend,
  semantic: StoreSemantic,
  id: Buffer,
  digest: Buffer,
): Promise<boolean> {
  const known = await backend.read(function* () {
    return (yield* read(cell(digests, digest)))[0]
  })
  if (!known || !equalBytes(known.id, id)) {
    await backend.run(dropPending, semantic, id)
    return false
  }
  const content = { id, digest, bytes: known.bytes }
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const meaning = await meaningOf(backend, semantic, content)
    if (meaning === undefined) return false
    if ((await backend.run(decide, semantic, content, meaning)) !== 'again') return true
  }
  throw new PrestigeError(
    'CONTENDED',
    'Texts of like meaning came too fast for one to be decided about. The next collection does it.',
  )
}

async function meaningOf(
  backend: Backend,
  semantic: StoreSemantic,
  content: MeantContent,
): Promise<Meaning | NotCompared | undefined> {
  const { id, digest, bytes } = content
  if (bytes > semantic.settings.textBytesMax) return 'too-large'
  const text = await semantic.textIn(content)
  if (text === undefined) return 'not-text'
  const kept = await backend.read(() => semantic.vectors.read(id))
  if (!kept && !semantic.embedder.isThere) return undefined
  // A delete that has been done must not fail for want of a model: the content stays noted, and verify reports it.
  const vectors = kept ?? (await semantic.vectorsFor(text).catch(() => null))
  if (vectors === null) return undefined
  return vectors === 'too-large' ? vectors : semantic.look(text, digest, vectors, id)
}

function* decide(
  scope: Scope,
  semantic: StoreSemantic,
  content: MeantContent,
  meaning: Meaning | NotCompared,
): Transaction<'decided' | 'again'> {
  const { id, digest } = content
  const pending = cell(meantPending, id)
  const [note, row, known, near] = yield* read(
    pending,
    cell(meant, id),
    cell(digests, digest),
    cell(links, id),
  )
  if (!note) return 'decided'
  const isListed = known && equalBytes(known.id, id)
  // What is linked to a near duplicate is not compared by meaning.
  if (!isListed || row || near?.to || meaning === 'not-text') {
    scope.remove(pending)
    if (!row) yield* semantic.vectors.remove(scope, id)
    return 'decided'
  }
  const found = typeof meaning === 'string' ? undefined : yield* semantic.settle(meaning, id)
  if (found === 'again') return 'again'
  scope.remove(pending)
  if (found && typeof meaning !== 'string' && meaning.hit) {
    semantic.link(scope, content, meaning, meaning.hit, found)
  } else yield* semantic.begin(scope, content, meaning)
  return 'decided'
}

/** Its vectors stay: it is decided about by them. */
function* unlink(scope: Scope, gone: Bytes, id: Buffer, digest: Buffer): Transaction<void> {
  const back = cell(meantLinked, linkedKey(gone, id))
  const [row, note] = yield* read(cell(meant, id), back)
  if (note) scope.remove(back)
  if (!row?.to || !equalBytes(row.to.id, gone)) return
  scope.remove(cell(meant, id))
  scope.add(MEANT_LINKS, -1)
  scope.write(cell(meantPending, id), digest)
}

/** Nothing can be linked any more to what is gone, so what was to be decided has been noted. */
// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* dropOrphaned(scope: Scope, gone: Buffer): Transaction<void> {
  scope.remove(cell(meantOrphaned, gone))
}

function* dropPending(scope: Scope, semantic: StoreSemantic, id: Buffer): Transaction<void> {
  const [row] = yield* read(cell(meant, id))
  scope.remove(cell(meantPending, id))
  if (!row) yield* semantic.vectors.remove(scope, id)
}
