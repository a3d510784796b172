/** The transactions that only look: a key's entry, its bytes, and why it points where it points. */

import { asBuffer, type Bytes, equalBytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  cell,
  read,
  type ReadScope,
  type RowReader,
  type Transaction,
} from '../../backends/index.ts'
import type { ContentCheck } from '../content-check.ts'
import { shortBytes } from '../contents/deltas.ts'
import type { Layout } from '../contents/layout.ts'
import { decodeSimilarity, type NearLink, nearLinks } from '../near/rows.ts'
import { decodeReference, type SemanticLink, semanticLinks } from '../semantic/rows.ts'
import {
  contents,
  digests,
  entries,
  Entry,
  type Form,
  forms,
  type Known,
  refKey,
  refs,
} from '../rows.ts'

/** The key's entry, unless it has expired. */
export function* findEntry(scope: ReadScope, key: Bytes): Transaction<Entry | undefined> {
  const [entry] = yield* read(cell(entries, key))
  return entry?.isLive(scope.now()) ? entry : undefined
}

/** How values are read. */
export interface Reading {
  readonly layout: Layout
  /** Absent: bytes are returned as they are found. */
  readonly check: ContentCheck | undefined
}

/**
 * The bytes of a key; or its entry, when the bytes are in more than one row and have to be read row by row. Both rows
 * are read in one transaction: an overwrite in between can never look like a missing key.
 */
export function* findValue(
  scope: ReadScope,
  key: Bytes,
  { layout, check }: Reading,
  noted?: (entry: Entry | undefined) => void,
): Transaction<Bytes | Entry | undefined> {
  const [entry] = yield* read(cell(entries, key))
  noted?.(entry)
  if (entry === undefined || !entry.isLive(scope.now())) return undefined
  if (layout.isLong(entry.bytes)) return entry
  const bytes = yield* shortBytes(entry, layout)
  if (bytes === undefined) throw damaged(key)
  if (check && !check.isRight(bytes, entry)) throw damaged(key)
  return bytes
}

/** What cannot be found by single rows, or is not right: `findValue` says what it is. */
export const UNUSUAL = Symbol('unusual')

/** The same without a transaction, of a value that is one row as most are. */
export function peekValue(
  rows: RowReader,
  key: Bytes,
  { layout, check }: Reading,
): Buffer | undefined | typeof UNUSUAL {
  const entry = rows.get(entries, key)
  if (entry === undefined || !entry.isLive(rows.now())) return undefined
  if (layout.isLong(entry.bytes)) return UNUSUAL
  const bytes = layout.readable(rows.get(contents, entry.id))
  if (bytes?.byteLength !== entry.bytes || (check && !check.isRight(bytes, entry))) return UNUSUAL
  return asBuffer(bytes)
}

/** An entry, and the bytes of its value, if those are in one row. */
export interface Found {
  readonly entry: Entry
  readonly bytes?: Bytes
}

export function* findBoth(
  scope: ReadScope,
  key: Bytes,
  reading: Reading,
): Transaction<Found | undefined> {
  let entry: Entry | undefined
  const found = yield* findValue(scope, key, reading, (seen) => {
    entry = seen
  })
  if (found === undefined || entry === undefined) return undefined
  return found instanceof Entry ? { entry } : { entry, bytes: found }
}

/** What is known of a content; `undefined` when it is gone, or its digest is that of another by now. */
export function* findKnown({
  id,
  digest,
}: {
  readonly id: Bytes
  readonly digest: Bytes
}): Transaction<Known | undefined> {
  const [known] = yield* read(cell(digests, digest))
  return known && equalBytes(known.id, id) ? known : undefined
}

export interface Story {
  readonly entry: Entry
  readonly known: Known
  readonly form: Form | undefined
  /** How it is linked to what it is like. */
  readonly link: NearLink | undefined
  /** How it is linked to what it means the same as. */
  readonly semanticLink?: SemanticLink | undefined
  /** To what it shares the bytes of. */
  readonly similarity: number | undefined
  /** The same, where meanings were compared. */
  readonly semanticSimilarity?: number | undefined
}

/** `has`: whether near duplicates, and texts of like meaning, are linked in this store. */
export function* findStory(
  scope: ReadScope,
  key: Bytes,
  has: { readonly near: boolean; readonly semantic: boolean },
): Transaction<Story | undefined> {
  const entry = yield* findEntry(scope, key)
  if (entry === undefined) return undefined
  const [known] = yield* read(cell(digests, entry.digest))
  if (known === undefined) throw damaged(key)
  const form = known.form && (yield* read(cell(forms, known.form)))[0]
  if (!has.near && !has.semantic)
    return { entry, known, form, link: undefined, similarity: undefined }
  const [link, ref] = yield* read(
    cell(nearLinks.links, entry.id),
    cell(refs, refKey(entry.id, key)),
  )
  const story = { entry, known, form, link, similarity: decodeSimilarity(ref) }
  if (!has.semantic) return story
  const [semanticLink] = yield* read(cell(semanticLinks.links, entry.id))
  return { ...story, semanticLink, semanticSimilarity: decodeReference(ref)?.similarity }
}

export function damaged(key: Bytes): PrestigeError {
  const shown = JSON.stringify(Buffer.from(key).toString('utf8'))
  return new PrestigeError(
    'CONTENT_CORRUPT',
    `The content of key ${shown} is damaged or missing: it does not match the SHA-256 that was stored. Put the value again, or run prestige verify --repair.`,
  )
}
