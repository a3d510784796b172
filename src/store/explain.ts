/** Why a key points where it points: the receipt's answer, given again later. */

import { type Bytes, endOfPrefix, equalBytes } from '../platform/bytes.ts'
import { type Backend, cell, read, type ReadScope, type Transaction } from '../backends/index.ts'
import { recipes } from './contents/chunk-rows.ts'
import { deltaIn, deltas } from './contents/delta-rows.ts'
import type { Layout } from './contents/layout.ts'
import { bytesOf } from './contents/read-content.ts'
import { findStory, type Story } from './transactions/get.ts'
import { refuseUnknown } from './prepare.ts'
import {
  type ContentOrigin,
  type ContentStory,
  hex,
  originOf,
  readableKey,
  type Refused,
} from './receipt.ts'
import { type Known, refs } from './rows.ts'
import { containmentsOf, type Similar } from './similar.ts'
import type { StoreNear } from './near/store-near.ts'
import type { StoreSemantic } from './semantic/store-semantic.ts'

/** Why a key points where it points: what its receipt said, as far as it still holds. */
export type Explanation = ContentStory & {
  readonly key: Buffer
  /** Of what is linked to nothing: the most similar that is not the same, and what speaks against it. */
  readonly refused?: Refused
  /** Where containment is looked for: other contents that contain this one, or are contained in it. */
  readonly containment?: readonly Similar[]
  /** The content the key points at. */
  readonly points: ContentOrigin
  /** What identifies that content: the SHA-256, in hex, of its bytes (or of its form, where forms are shared). */
  readonly digest: string
  /** Length of the value. */
  readonly bytes: number
  /** Of a value that is cut into chunks: bytes whose chunks were there when its content was stored. */
  readonly sharedBytes?: number
  /** Of a value that is kept as what differs from another content: the id of that, and the bytes that it takes. */
  readonly delta?: { readonly of: string; readonly bytes: number }
  /** Milliseconds since 1970. */
  readonly putAt: number
  /** Milliseconds since 1970. */
  readonly expiresAt?: number
  /** Other keys that point at the same content, in byte order, up to the limit asked for. */
  readonly sharedWith: readonly Buffer[]
}

export interface ExplainOptions {
  /** How many other keys to name (default 10). */
  readonly sharedWithMax?: number
}

export async function explain(
  backend: Backend,
  key: Bytes,
  how: ExplainHow,
  options: ExplainOptions,
): Promise<Explanation | undefined> {
  refuseUnknown(options, ['sharedWithMax'])
  const sharedWithMax = Math.max(0, Math.floor(options.sharedWithMax ?? 10)) || 0
  const { near, semantic } = how
  const has = { near: near !== undefined, semantic: semantic !== undefined }
  const story = await backend.read(findStory, key, has)
  if (story === undefined) return undefined
  const why = cause(story, how)
  const { entry, known } = story
  const refused = why.content === 'new' ? await refusedBy(backend, known, how) : undefined
  const { expiresAt } = entry
  const containment = near?.containment && (await containmentsOf(backend, near, known))
  const delta = how.layout.deltas && (await backend.read(findDelta, entry.id))
  return {
    key: readableKey(Buffer.from(key)),
    ...why,
    ...(refused && { refused }),
    ...(containment && { containment }),
    points: originOf(known),
    digest: hex(entry.digest),
    bytes: entry.bytes,
    ...(how.layout.chunks &&
      how.layout.isLong(entry.bytes) && { sharedBytes: await sharedBytesOf(backend, entry.id) }),
    ...(delta && { delta }),
    putAt: entry.putAt,
    ...(expiresAt !== undefined && { expiresAt }),
    sharedWith: await otherKeys(backend, entry.id, key, sharedWithMax),
  }
}

async function refusedBy(
  backend: Backend,
  known: Known,
  { near, semantic, layout }: ExplainHow,
): Promise<Refused | undefined> {
  const meant = await semantic?.refusedBy(known)
  if (meant || !near?.canCompare) return meant
  const bytes = await backend.read(() => bytesOf(known, layout))
  return bytes && backend.read(() => near.refusedBy(known, bytes))
}

/** How the store finds what is the same. */
export interface ExplainHow {
  readonly sharesForms: boolean
  readonly layout: Layout
  readonly near: StoreNear | undefined
  readonly semantic: StoreSemantic | undefined
}

function cause(story: Story, { sharesForms, near, semantic }: ExplainHow): ContentStory {
  const { entry, known, form, link, similarity, semanticLink, semanticSimilarity } = story
  const { outcome } = entry
  const threshold = near?.settings.similarityMin ?? 0
  const meaning = {
    method: 'semantic',
    threshold: semantic?.settings.similarityMin ?? 0,
    embedder: semantic?.settings.embedder ?? '',
  } as const
  if (outcome === 'duplicate' && semanticSimilarity !== undefined) {
    return { content: outcome, of: originOf(known), ...meaning, similarity: semanticSimilarity }
  }
  if (outcome === 'duplicate' && similarity !== undefined) {
    return { content: outcome, of: originOf(known), method: 'near', similarity, threshold }
  }
  if (outcome === 'duplicate') {
    return { content: outcome, of: originOf(known), method: sharesForms ? 'canonical' : 'digest' }
  }
  // When the content it was linked to is gone, it may stand for the form itself by now.
  if (outcome === 'linked' && form && !equalBytes(form.id, entry.id)) {
    return { content: outcome, of: originOf(form), method: 'canonical' }
  }
  // When what it was linked to is gone, it was re-evaluated, and may be a representative by now.
  if (outcome === 'linked' && link?.to) {
    const of = originOf(link.to)
    return { content: outcome, of, method: 'near', similarity: link.to.similarity, threshold }
  }
  if (outcome === 'linked' && semanticLink?.to) {
    const of = originOf(semanticLink.to)
    return { content: outcome, of, ...meaning, similarity: semanticLink.to.similarity }
  }
  return { content: 'new' }
}

function* findDelta(_scope: ReadScope, id: Bytes): Transaction<Explanation['delta']> {
  const [row] = yield* read(cell(deltas, id))
  const delta = deltaIn(row)
  return row && delta && { of: hex(delta.base), bytes: row.byteLength }
}

async function sharedBytesOf(backend: Backend, id: Bytes): Promise<number> {
  let sharedBytes = 0
  for await (const { value } of backend.scan(recipes, { start: id, end: endOfPrefix(id) }))
    sharedBytes += value.sharedBytes
  return sharedBytes
}

async function otherKeys(
  backend: Backend,
  id: Bytes,
  key: Bytes,
  limit: number,
): Promise<Buffer[]> {
  const others: Buffer[] = []
  const range = { start: id, end: endOfPrefix(id), limit: limit + 1 }
  for await (const row of backend.scan(refs, range)) {
    const other = row.key.subarray(id.byteLength)
    if (!equalBytes(other, key)) others.push(readableKey(other))
  }
  return others.slice(0, limit)
}
