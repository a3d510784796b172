/**
 * Contents that are to be decided about: their representative is gone, or the embedder became another. Each is looked
 * at by its stored vectors, linked to what it means now, or made a representative. Noted in the transaction that took
 * the representative away, so a crash delays it at most until the next collection.
 */

import { equalBytes } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Orphan } from '../../match/index.ts'
import { nearLinks } from '../near/rows.ts'
import { digests } from '../rows.ts'
import { findKnown } from '../transactions/get.ts'
import type { Meaning, SemanticContent, StoreSemantic } from './store-semantic.ts'
import type { NotCompared } from '../near/store-near.ts'
import { semanticPending } from './rows.ts'
import { semanticGraph } from './view.ts'

/** Rounds after which a content is left for the next collection. */
const ROUNDS_MAX = 100

/** Returns how many were re-evaluated. */
export async function adoptMeanings(backend: Backend, semantic: StoreSemantic): Promise<number> {
  for await (const orphan of semanticGraph.orphans(backend)) await backend.run(unlink, orphan)
  let decided = 0
  for await (const { key: id, value: digest } of backend.scan(semanticPending)) {
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
  const known = await backend.read(() => findKnown({ id, digest }))
  const content = { id, digest, bytes: known?.bytes ?? 0 }
  if (!known) {
    await backend.run(decide, semantic, content, 'not-text')
    return false
  }
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const meaning = await meaningOf(backend, semantic, content)
    if (meaning === undefined) return false
    if ((await backend.run(decide, semantic, content, meaning)) !== 'again') return true
  }
  throw new PrestigeError(
    'CONTENDED',
    'Too many concurrent writes of similar texts. The next collection decides about those that are left.',
  )
}

async function meaningOf(
  backend: Backend,
  semantic: StoreSemantic,
  content: SemanticContent,
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
  content: SemanticContent,
  meaning: Meaning | NotCompared,
): Transaction<'decided' | 'again'> {
  const { id, digest } = content
  const pending = cell(semanticPending, id)
  const [note, row, known, near] = yield* read(
    pending,
    semanticGraph.row(id),
    cell(digests, digest),
    cell(nearLinks.links, id),
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
function* unlink(scope: Scope, { gone, id, digest }: Orphan): Transaction<void> {
  if (yield* semanticGraph.unlink(scope, gone, id)) scope.write(cell(semanticPending, id), digest)
}
