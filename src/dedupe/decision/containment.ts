/**
 * Documents of which one contains the other, or most of it: a reply with what it quotes, an article with its excerpt.
 *
 * Only documents that others are measured against are found, so whatever is dropped is in one that is kept. Places are
 * bytes of the texts as they were given, in UTF-8.
 *
 * A passage that was cut from a document is in it no more: neither its fingerprints nor the text that others are
 * compared with have it. So of those that share a passage, the first keeps it, and no other is found for it.
 */

import { cell, type Codec, glance, type Scope, type Transaction } from '../../backends/index.ts'
import type { Passage } from '../../compare/index.ts'
import { fingerprintsOf } from '../../fingerprint/index.ts'
import { type CutSpans, cutText } from '../../input/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Contained,
  ContainmentIndex,
  type ContainmentProbe,
  originalOf,
  requireJournal,
} from '../../match/index.ts'
import type { CutFor, DocumentRow } from '../../ledger/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { hex, named } from '../names.ts'
import { containment, documents } from '../rows.ts'
import type { Named, Span } from './decision.ts'
import type { EvidenceReader } from './packs.ts'
import type { PreparedDocument } from './prepare.ts'
import type { Prefer } from './rank.ts'

const KEY = 16
const PLACE = 12
const SPACE = 0x20
const NONE = { enabled: false, min: 1, action: 'link' }

/** The key of the document (16), the partition where its evidence is (16), and what was cut from it (start and end, 6 each). */
export interface ContainedPayload {
  readonly key: Buffer
  readonly partition: Buffer
  readonly cut: CutSpans
}

const payloads: Codec<ContainedPayload> = {
  encode: ({ key, partition, cut }) => Buffer.concat([key, partition, ...cut.map(placeOf)]),
  decode: (bytes) => {
    const row = Buffer.from(bytes)
    const cut: [number, number][] = []
    for (let at = 2 * KEY; at < row.byteLength; at += PLACE) {
      cut.push([row.readUIntBE(at, PLACE / 2), row.readUIntBE(at + PLACE / 2, PLACE / 2)])
    }
    return { key: row.subarray(0, KEY), partition: row.subarray(KEY, 2 * KEY), cut }
  },
}

function placeOf([start, end]: CutSpans[number]): Buffer {
  const place = Buffer.allocUnsafe(PLACE)
  place.writeUIntBE(start, 0, PLACE / 2)
  place.writeUIntBE(end, PLACE / 2, PLACE / 2)
  return place
}

/** With the key of the other document, in hex. */
export interface FoundSpan extends Span {
  readonly key: string
}

/** A document that contains this one, or is contained in it. */
export interface FoundContained {
  readonly of: Named
  readonly key: Buffer
  /** How much of this document is in the other, and of the other in this one. */
  readonly share: number
  readonly shareOfOther: number
  readonly spans: readonly FoundSpan[]
  readonly spansOfOther: readonly Passage[]
  /** Set if the spans are cut from it: they may be of several documents. */
  readonly cutFor?: readonly CutFor[] | undefined
}

export type JobContainment = ContainmentIndex<ContainedPayload>

/** Before anything is kept: what it needs is there. */
export function containmentOf(
  config: DedupeConfig,
  serial: boolean,
  evidence: EvidenceReader,
  prefer?: Prefer,
): JobContainment | undefined {
  // Runs from before there was such a step have no such settings.
  const { enabled, min, action } = config.containment ?? NONE
  if (!enabled) return undefined
  if (action === 'cut') requireFirstKept(config, prefer)
  requireJournal(serial)
  const { near } = config
  if (!near.enabled || (near.evidence ?? 'text') !== 'text') {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      "containment compares texts: it needs near.enabled, and near.evidence 'text'.",
    )
  }
  function* readText(id: Buffer, { partition, cut }: ContainedPayload) {
    const bytes = yield* evidence.of(partition, id)
    const text = bytes && originalOf(bytes)
    return text && withBlanks(text, cut)
  }
  return new ContainmentIndex(containment, serial, { owner: 'dedupe', min, payloads, readText })
}

/** What others were cut for must stay: a better copy that came later would take its place. */
function requireFirstKept({ keep, orderIndependent }: DedupeConfig, prefer?: Prefer): void {
  const isFirst = !prefer && keep.every((rule) => rule === 'first')
  if (orderIndependent || isFirst) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    "With containment.action 'cut' the document that is decided first keeps what others lose. Use keep ['first'], or orderIndependent, which decides about the best copies first.",
  )
}

/** The text with spaces in the place of what was cut: what is left is where it was. */
function withBlanks(text: Uint8Array, cut: CutSpans): Uint8Array {
  if (cut.length === 0) return text
  const left = Buffer.from(text)
  for (const [start, end] of cut) left.fill(SPACE, start, end)
  return left
}

/** `undefined`: it is too short, or too long, to be found. */
export function containmentProbe(
  index: JobContainment,
  document: PreparedDocument,
  cut: CutSpans = [],
): ContainmentProbe | undefined {
  const text = textOf(document)
  const { fingerprints } = document
  if (!text || !fingerprints) return undefined
  if (cut.length === 0) return index.probeOf(text, fingerprints)
  const left = withBlanks(text, cut)
  return index.probeOf(left, fingerprintsOf(left))
}

function textOf({ looks }: PreparedDocument): Uint8Array | undefined {
  return looks[0] && originalOf(looks[0].evidence)
}

/** A document that contains this one or is contained in it, and its row. */
interface FoundRow {
  readonly one: FoundContained
  readonly row: DocumentRow
}

/** Those of which the two share most first. */
export function* findContained(
  index: JobContainment,
  document: PreparedDocument,
  self: Buffer | undefined,
  scope: Scope | undefined,
): Transaction<{ readonly found: readonly FoundRow[]; readonly passedOver: number }> {
  const probe = containmentProbe(index, document)
  const counts = ({ payload }: { readonly payload: ContainedPayload }) =>
    self === undefined || !payload.key.equals(self)
  const searched = yield* index.find(probe, scope, { counts })
  const found: FoundRow[] = []
  for (const one of searched.found) {
    const [row] = yield* glance(cell(documents, one.payload.key))
    if (row) found.push({ one: foundOf(one, named(row)), row })
  }
  return { found, passedOver: searched.passedOver }
}

function foundOf(one: Contained<ContainedPayload>, of: Named): FoundContained {
  const { share, shareOfOther, passages, passagesOfOther: spansOfOther, payload } = one
  const key = hex(payload.key)
  const spans = passages.map(({ start, end }) => ({ start, end, of, key }))
  return { of, key: payload.key, share, shareOfOther, spans, spansOfOther }
}

/** What is cut from a document: all that is in others that are kept. Nothing, if none of those is. */
export function cutBy(all: readonly FoundRow[]): FoundContained | undefined {
  const kept = all.filter(({ row }) => row.action !== 'superseded')
  const [most] = kept.map(({ one }) => one).toSorted((one, other) => other.share - one.share)
  if (!most) return undefined
  const spans = apart(kept.flatMap(({ one }) => one.spans))
  const used = new Set(spans.map(({ key }) => key))
  const cutFor = kept.flatMap(({ one: { key }, row: { digest } }) =>
    used.has(hex(key)) ? [[hex(key), digest] as const] : [],
  )
  return { ...most, spans, cutFor }
}

/** In their order; where two overlap, the part that both have is of the first. */
function apart(spans: readonly FoundSpan[]): FoundSpan[] {
  const found: FoundSpan[] = []
  let from = 0
  for (const span of spans.toSorted((one, other) => one.start - other.start)) {
    if (span.end <= from) continue
    found.push({ ...span, start: Math.max(from, span.start) })
    from = span.end
  }
  return found
}

/** Whether nothing is left of it but white space, or another has all of its words. */
export function isWhole(document: PreparedDocument, { share, spans }: FoundContained): boolean {
  const text = textOf(document)
  if (share === 1 || !text) return share === 1
  const left = cutText(
    text,
    spans.map(({ start, end }) => [start, end] as const),
  )
  return left.toString('utf8').trim() === ''
}

/** What of it is in the row of the document. */
export function rowOf(
  contained: FoundContained,
): Pick<DocumentRow, 'spans' | 'containment' | 'cutFor'> {
  const { spans, shareOfOther, spansOfOther, cutFor } = contained
  return {
    spans: spans.map(({ start, end, key }) => [start, end, key] as const),
    containment: {
      shareOfOther,
      spansOfOther: spansOfOther.map(({ start, end }) => [start, end] as const),
    },
    ...(cutFor && { cutFor }),
  }
}
