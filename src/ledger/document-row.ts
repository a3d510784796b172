/**
 * The row of a document of the corpus job, byte by byte: what was decided about it, and so its line in the ledger. It
 * is written once for every document there is, and read again whenever the document is met or reported, so it is
 * small and cheap to read. Numbers are big endian, texts UTF-8.
 *
 * Format 5: `5a` flags (2) digest of the text (16) at (6) bytes (varint) rank (1 + each) id (varint + n) source
 * (varint + n) run, and the fields that the flags announce, in their order; a is the action. A number of the rank is 1 more
 * than itself (varint), or 0 and a double (8); a run is 0 and its 18 digits (9), where its name is made of time and number,
 * or 1 and its name (varint + n). Format 6, where there is a language: the same, but language (varint + n) behind the run.
 *
 * Only read: format 3, with bytes (6) before at (6), rank (1 + 8 each) id (2 + n) source (1 + n) run (1 + n) and a length
 * of 4 bytes before the centre; format 4, the same with language (1 + n); format 2, which is format 3 without time.
 */

import { asBuffer, type Bytes } from '../platform/bytes.ts'
import type { Codec } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { FORMAT_MASK, KEY, RowReader, RowWriter } from './row-bytes.ts'

/** What decides who survives, as numbers of which more is better, in the order of the rules. */
export type Rank = readonly number[]

export interface DocumentRow {
  readonly id: string
  readonly source: string
  readonly run: string
  /** The last that met it. */
  readonly session: string
  /** Of its text. */
  readonly digest: Bytes
  readonly bytes: number
  /** Milliseconds since 1970: since when it has this action. 0 in a row of format 2. */
  readonly at: number
  readonly time?: number
  readonly quality?: number
  readonly type?: string
  readonly language?: string
  readonly rank: Rank
  readonly action: 'keep' | 'drop' | 'link' | 'superseded'
  readonly method?: string
  readonly similarity?: number
  /** Keys of centre and survivor, in hex; absent where it is a centre. */
  readonly cluster?: string
  /** Digest of the text that the centre had when this one was measured against it. */
  readonly centreDigest?: Bytes
  /** So many were found to be like the text that this document had before, and now have no copy that is kept. */
  readonly orphaned?: number
  /** Where it is a centre: its own rows in the indexes, see centre-row.ts. */
  readonly centre?: Bytes
  readonly spans?: readonly (readonly [start: number, end: number, of: string])[]
  /** Key of the document it means the same as, in hex. */
  readonly like?: string
  /** Why it is not the same as that document, although the two are similar. */
  readonly vetoes?: readonly RowVeto[]
  /** Of what was found by containment: `similarity` is the share of this document, and `spans` are its own. */
  readonly containment?: RowContainment
  /** Its `spans` are cut from its text, or all of it is dropped, because these have them: keys in hex, and their texts. */
  readonly cutFor?: readonly CutFor[]
  readonly supersededBy?: string
  readonly supersedes?: readonly string[]
  readonly possibleMiss?: true
}

/** What differs between two documents, and in what. */
export interface RowVeto {
  readonly guard: string
  readonly a: readonly string[]
  readonly b: readonly string[]
}

/** A document that has what another one lost: its key, in hex, and the digest of its text at that time. */
export type CutFor = readonly [of: string, digest: Bytes]

/** How much of the other document is in this one, and where in the other: bytes of its text. */
export interface RowContainment {
  readonly shareOfOther: number
  readonly spansOfOther: readonly (readonly [start: number, end: number])[]
}

export type Writable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Rows of this method end with share (8), number of spans (4), start and end (6 each) of the other document, number of
 * documents that it was cut for (2), key and digest (16 each) of those.
 */
const CONTAINMENT = 'containment'
const FORMAT_WITHOUT_TIME = 0x20
const FORMAT_LONG = 0x30
const FORMAT_LONG_WITH_LANGUAGE = 0x40
const FORMAT = 0x50
const FORMAT_WITH_LANGUAGE = 0x60
/** Larger numbers of a rank are doubles. */
const RANK_WHOLE_MAX = 2 ** 32
/** As runs are named that nobody has named. */
const RUN_NAME = /^(\d{8})-(\d{6})-(\d{4})$/
const RUN_DIGITS_BYTES = 9
const ACTIONS = ['keep', 'drop', 'link', 'superseded'] as const
const HAS_SESSION = 1
const HAS_TIME = 2
const HAS_QUALITY = 4
const HAS_TYPE = 8
const HAS_METHOD = 16
const HAS_SIMILARITY = 32
const HAS_CLUSTER = 64
const HAS_CENTRE_DIGEST = 128
const HAS_ORPHANED = 256
const HAS_CENTRE = 512
const HAS_SPANS = 1024
const HAS_LIKE = 2048
const IS_SUPERSEDED_BY = 4096
const HAS_SUPERSEDED = 8192
const POSSIBLE_MISS = 16_384
const HAS_VETOES = 32_768
/** Of each side of a veto, so many texts of so many characters are kept. */
const VETO_TEXTS_MAX = 8
const VETO_TEXT_MAX = 100

export const documentCodec: Codec<DocumentRow> = {
  encode: (row) => encodeRow(row),
  decode(bytes) {
    try {
      return decodeRow(new RowReader(asBuffer(bytes)))
    } catch (error) {
      const message = 'A row of the corpus job (documents) cannot be read.'
      throw new PrestigeError('CONTENT_CORRUPT', message, { cause: error })
    }
  },
}

function encodeRow(row: DocumentRow): Buffer {
  const to = new RowWriter()
  const { language } = row
  const format = language === undefined ? FORMAT : FORMAT_WITH_LANGUAGE
  to.number(format | ACTIONS.indexOf(row.action), 1)
  to.number(0, 2)
  to.bytes(row.digest)
  to.number(row.at, 6)
  to.varint(row.bytes)
  to.number(row.rank.length, 1)
  for (const one of row.rank) writeRanked(to, one)
  to.text(row.id)
  to.text(row.source)
  writeRun(to, row.run)
  if (language !== undefined) to.text(language)
  const flags = writeWhatIs(to, row) | writeLinks(to, row)
  if (row.method === CONTAINMENT) writeContainment(to, row)
  to.patch(flags, 1)
  return to.whole()
}

function writeRanked(to: RowWriter, one: number): void {
  // Not -0, which is another number.
  if (Number.isInteger(one) && one < RANK_WHOLE_MAX && (one > 0 || Object.is(one, 0))) {
    to.varint(one + 1)
    return
  }
  to.varint(0)
  to.double(one)
}

function readRanked(from: RowReader): number {
  const whole = from.varint()
  return whole === 0 ? from.double() : whole - 1
}

/** The last run that was written, and its digits: documents of one run come together. */
let lastRun = ''
let lastDigits: Buffer | undefined

function writeRun(to: RowWriter, run: string): void {
  if (run !== lastRun) {
    const [, ...digits] = RUN_NAME.exec(run) ?? []
    lastDigits = digits.length > 0 ? Buffer.from(digits.join(''), 'hex') : undefined
    lastRun = run
  }
  if (!lastDigits) {
    to.varint(1)
    to.text(run)
    return
  }
  to.varint(0)
  to.bytes(lastDigits)
}

function readRun(from: RowReader): string {
  if (from.varint() !== 0) return from.text()
  const digits = from.bytes(RUN_DIGITS_BYTES).toString('hex')
  return `${digits.slice(0, 8)}-${digits.slice(8, 14)}-${digits.slice(14)}`
}

/** What it is by itself. Returns the flags. */
function writeWhatIs(to: RowWriter, row: DocumentRow): number {
  const { session, time, quality, type, method, similarity } = row
  let flags = 0
  if (session !== row.run) {
    flags |= HAS_SESSION
    to.text(session, 2)
  }
  if (time !== undefined) {
    flags |= HAS_TIME
    to.double(time)
  }
  if (quality !== undefined) {
    flags |= HAS_QUALITY
    to.double(quality)
  }
  if (type !== undefined) {
    flags |= HAS_TYPE
    // Whatever string it is: JSON has a form for half of a character as well.
    to.text(JSON.stringify(type), 4)
  }
  if (method !== undefined) {
    flags |= HAS_METHOD
    to.text(method, 1)
  }
  if (similarity !== undefined) {
    flags |= HAS_SIMILARITY
    to.double(similarity)
  }
  return flags
}

/** What it has to do with others. */
function writeLinks(to: RowWriter, row: DocumentRow): number {
  const { cluster, centreDigest, orphaned, centre, spans, like, supersededBy, supersedes } = row
  const { vetoes } = row
  let flags = row.possibleMiss ? POSSIBLE_MISS : 0
  if (cluster !== undefined) {
    flags |= HAS_CLUSTER
    to.key(cluster)
  }
  if (centreDigest !== undefined) {
    flags |= HAS_CENTRE_DIGEST
    to.bytes(centreDigest)
  }
  if (orphaned !== undefined) {
    flags |= HAS_ORPHANED
    to.number(orphaned, 6)
  }
  if (centre !== undefined) {
    flags |= HAS_CENTRE
    to.varint(centre.byteLength)
    to.bytes(centre)
  }
  if (spans !== undefined) {
    flags |= HAS_SPANS
    to.number(spans.length, 4)
    for (const [start, end, of] of spans) {
      to.number(start, 6)
      to.number(end, 6)
      to.key(of)
    }
  }
  if (like !== undefined) {
    flags |= HAS_LIKE
    to.key(like)
  }
  if (supersededBy !== undefined) {
    flags |= IS_SUPERSEDED_BY
    to.key(supersededBy)
  }
  if (supersedes !== undefined) {
    flags |= HAS_SUPERSEDED
    to.number(supersedes.length, 2)
    for (const one of supersedes) to.key(one)
  }
  if (vetoes !== undefined) {
    flags |= HAS_VETOES
    to.text(JSON.stringify(vetoes.map(shortened)), 4)
  }
  return flags
}

function writeContainment(to: RowWriter, { containment, cutFor = [] }: DocumentRow): void {
  const { shareOfOther, spansOfOther } = containment ?? { shareOfOther: 0, spansOfOther: [] }
  to.double(shareOfOther)
  to.number(spansOfOther.length, 4)
  for (const [start, end] of spansOfOther) {
    to.number(start, 6)
    to.number(end, 6)
  }
  to.number(cutFor.length, 2)
  for (const [of, digest] of cutFor) {
    to.key(of)
    to.bytes(digest)
  }
}

function readContainment(from: RowReader, row: Writable<DocumentRow>): void {
  const shareOfOther = from.double()
  const spansOfOther = from.list(from.number(4), () => [from.number(6), from.number(6)] as const)
  const cutFor = from.list(from.number(2), () => [from.key(), from.bytes(KEY)] as const)
  row.containment = { shareOfOther, spansOfOther }
  if (cutFor.length > 0) row.cutFor = cutFor
}

function shortened({ guard, a, b }: RowVeto): RowVeto {
  const some = (texts: readonly string[]) =>
    texts.slice(0, VETO_TEXTS_MAX).map((text) => text.slice(0, VETO_TEXT_MAX).toWellFormed())
  return { guard, a: some(a), b: some(b) }
}

function decodeRow(from: RowReader): DocumentRow {
  const { first } = from
  const format = first & FORMAT_MASK
  const action = ACTIONS[first & ~FORMAT_MASK]
  const isShort = format === FORMAT || format === FORMAT_WITH_LANGUAGE
  const hasLanguage = format === FORMAT_WITH_LANGUAGE || format === FORMAT_LONG_WITH_LANGUAGE
  const isKnown = isShort || hasLanguage || format === FORMAT_LONG || format === FORMAT_WITHOUT_TIME
  if (!isKnown || action === undefined) throw new TypeError('another format')
  const flags = from.number(2)
  const digest = from.bytes(KEY)
  const { bytes, at } = isShort ? sizeAndTime(from) : longSizeAndTime(from, format)
  const rank = from.list(from.number(1), () => (isShort ? readRanked(from) : from.double()))
  const id = isShort ? from.text() : from.text(2)
  const source = isShort ? from.text() : from.text(1)
  const run = isShort ? readRun(from) : from.text(1)
  const language = hasLanguage ? (isShort ? from.text() : from.text(1)) : undefined
  const session = flags & HAS_SESSION ? from.text(2) : run
  const centreBytes = () => (isShort ? from.varint() : from.number(4))
  // Most documents are like no other.
  if (flags === HAS_CENTRE && !hasLanguage) {
    const centre = from.bytes(centreBytes())
    return { id, source, run, session, digest, bytes, at, rank, action, centre }
  }
  const row: Writable<DocumentRow> = {
    id,
    source,
    run,
    session,
    digest,
    bytes,
    at,
    rank,
    action,
  }
  if (language !== undefined) row.language = language
  readWhatIs(from, row, flags)
  readLinks(from, row, flags, centreBytes)
  if (row.method === CONTAINMENT) readContainment(from, row)
  return row
}

function sizeAndTime(from: RowReader): Pick<DocumentRow, 'bytes' | 'at'> {
  const at = from.number(6)
  return { at, bytes: from.varint() }
}

function longSizeAndTime(from: RowReader, format: number): Pick<DocumentRow, 'bytes' | 'at'> {
  const bytes = from.number(6)
  return { bytes, at: format === FORMAT_WITHOUT_TIME ? 0 : from.number(6) }
}

function readWhatIs(from: RowReader, row: Writable<DocumentRow>, flags: number): void {
  if (flags & HAS_TIME) row.time = from.double()
  if (flags & HAS_QUALITY) row.quality = from.double()
  if (flags & HAS_TYPE) row.type = String(JSON.parse(from.text(4)))
  if (flags & HAS_METHOD) row.method = from.text(1)
  if (flags & HAS_SIMILARITY) row.similarity = from.double()
}

function readLinks(
  from: RowReader,
  row: Writable<DocumentRow>,
  flags: number,
  centreBytes: () => number,
): void {
  if (flags & HAS_CLUSTER) row.cluster = from.key()
  if (flags & HAS_CENTRE_DIGEST) row.centreDigest = from.bytes(KEY)
  if (flags & HAS_ORPHANED) row.orphaned = from.number(6)
  if (flags & HAS_CENTRE) row.centre = from.bytes(centreBytes())
  if (flags & HAS_SPANS)
    row.spans = from.list(
      from.number(4),
      () => [from.number(6), from.number(6), from.key()] as const,
    )
  if (flags & HAS_LIKE) row.like = from.key()
  if (flags & IS_SUPERSEDED_BY) row.supersededBy = from.key()
  if (flags & HAS_SUPERSEDED) row.supersedes = from.list(from.number(2), () => from.key())
  // safe: only encodeRow writes it
  if (flags & HAS_VETOES) row.vetoes = JSON.parse(from.text(4)) as RowVeto[]
  if (flags & POSSIBLE_MISS) row.possibleMiss = true
}
