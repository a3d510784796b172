/**
 * Pairs that wait for a label: read from a file, or chosen from documents; in the order in which they are shown.
 *
 * The same inputs give the same pairs in the same order, so that a session can be resumed.
 */

import { canonicalProfile } from '../../canonical/index.ts'
import { type CompareOptions, compareTexts } from '../../compare/index.ts'
import { profilesOf, sketchOf } from '../../fingerprint/index.ts'
import { isReject, listShards, type ListingInput, readShard } from '../../input/index.ts'
import { Failure } from '../call/failure.ts'
import { count } from '../print/units.ts'

export interface Pair {
  readonly a: string
  readonly b: string
  readonly similarity: number
}

export interface PairOptions extends Pick<CompareOptions, 'profile' | 'canonical'> {
  readonly threshold: number
  readonly format: ListingInput['format']
  readonly signal: AbortSignal
}

/** Fields of a text as other tools name them. */
const FIELDS: readonly (readonly [string, string])[] = [
  ['a', 'b'],
  ['text1', 'text2'],
  ['sentence1', 'sentence2'],
  ['first', 'second'],
]
const DOCUMENTS_MAX = 100_000
const SLOTS = 128
/** They find nine of ten pairs of similarity 0.4. */
const BANDS = { count: 42, rows: 3 }
/** A document is compared with so many before it that are in the same bucket. */
const BUCKET_MAX = 8
/** Pairs that are further from the threshold say little about it. */
const DISTANCE_MAX = 0.4
const BINS = 20

export async function pairsIn(
  file: string,
  fields: readonly [string, string] | undefined,
  options: PairOptions,
): Promise<Pair[]> {
  for (const names of fields ? [fields] : FIELDS) {
    const columns: (readonly string[])[] = []
    for (const name of names)
      columns.push(await columnOf(file, name, fields !== undefined, options))
    const [first = [], second = []] = columns
    if (first.length === 0 && second.length === 0 && !fields) continue
    if (first.length !== second.length) {
      throw invalid(
        `${file} has ${count(first.length)} texts in "${names[0]}" and ${count(second.length)} in "${names[1]}". Every pair needs both.`,
      )
    }
    const pairs = first.map((a, at) => scored(a, second[at] ?? '', options))
    return inOrder(pairs, options.threshold)
  }
  throw invalid(`${file} has no fields a and b. Name two others with --fields question,other.`)
}

/** All texts of one field. Of none that has it: nothing, unless it was named. */
async function columnOf(
  file: string,
  name: string,
  isNamed: boolean,
  { format, signal }: PairOptions,
): Promise<string[]> {
  const texts: string[] = []
  requireRecords(file, format)
  const hasQuotes = format !== 'tsv' && !/\.tsv(\.gz|\.zst)?$/.test(file)
  for await (const item of itemsOf([file], name, { format, hasQuotes, signal })) {
    if (!isReject(item)) texts.push(item.text)
    else if (isNamed || texts.length > 0 || item.reason !== 'missing-field') {
      throw invalid(`${file}, line ${item.line}: there is no text "${name}" (${item.reason}).`)
    } else return []
  }
  return texts
}

/** A file of plain text has no fields. */
function requireRecords(file: string, format: PairOptions['format'] = 'auto'): void {
  const isRecords = /\.(jsonl|ndjson|csv|tsv|parquet)(\.gz|\.zst)?$/i.test(file)
  if (format === 'auto' ? isRecords : format !== 'lines' && format !== 'files') return
  throw invalid(
    `${file} is not JSONL, CSV, TSV or Parquet by its name. Say what it is with --format, or add --inputs if it holds documents.`,
  )
}

/** Pairs around the threshold, of documents that are not the same in canonical form. */
export async function minedPairs(
  inputs: readonly string[],
  textField: string,
  limit: number,
  options: PairOptions,
): Promise<Pair[]> {
  const texts: string[] = []
  const { format, signal } = options
  for await (const item of itemsOf(inputs, textField, { format, hasQuotes: true, signal })) {
    if (!isReject(item)) texts.push(item.text)
    if (texts.length >= DOCUMENTS_MAX) break
  }
  if (texts.length === 0) {
    throw invalid(
      `There are no documents with the field "${textField}". Name another with --text-field.`,
    )
  }
  const { threshold } = options
  const near = (similarity: number) => Math.abs(similarity - threshold) <= DISTANCE_MAX
  const candidates = candidatesOf(texts, options).filter(({ similarity }) => near(similarity))
  // Estimates are a few hundredths wrong, so more are measured than are wanted.
  const measured = inOrder(candidates, threshold).slice(0, limit * 2)
  const pairs = measured.map(({ a, b }) => scored(a, b, options))
  return inOrder(pairs, threshold).slice(0, limit)
}

async function* itemsOf(
  inputs: readonly string[],
  text: string,
  { format, hasQuotes, signal }: Pick<PairOptions, 'format' | 'signal'> & { hasQuotes: boolean },
) {
  const listing = await listShards(inputs, { format }, process.stdin, undefined, signal)
  try {
    for (const shard of listing.shards) {
      for await (const items of readShard(shard, { fields: { text }, hasQuotes })) {
        signal.throwIfAborted()
        yield* items
      }
    }
  } finally {
    await listing.close()
  }
}

/** By bands of their sketches. Their similarity is estimated. */
function candidatesOf(
  texts: readonly string[],
  { threshold, profile = 'auto', canonical = 'unicode' }: PairOptions,
): Pair[] {
  const form = canonicalProfile(canonical)
  const forms = new Set<string>()
  const buckets = new Map<string, { readonly at: number; readonly slots: Uint16Array }[]>()
  const found = new Map<string, Pair>()
  for (const [at, text] of texts.entries()) {
    const bytes = Buffer.from(form.canonicalise(Buffer.from(text)))
    const name = bytes.toString('latin1')
    if (forms.has(name)) continue
    forms.add(name)
    for (const one of profilesOf(bytes, profile, threshold)) {
      const { slots, isEmpty } = sketchOf(bytes, { profile: one, slots: SLOTS })
      for (let band = 0; !isEmpty && band < BANDS.count; band++) {
        const rows = slots.subarray(band * BANDS.rows, (band + 1) * BANDS.rows)
        const key = `${one} ${band} ${rows.join(' ')}`
        const bucket = buckets.get(key) ?? []
        for (const other of bucket) {
          const pair = `${other.at} ${at}`
          if (other.at === at || found.has(pair)) continue
          const similarity = shareOf(slots, other.slots)
          found.set(pair, { a: texts[other.at] ?? '', b: text, similarity })
        }
        bucket.push({ at, slots })
        if (bucket.length > BUCKET_MAX) bucket.shift()
        buckets.set(key, bucket)
      }
    }
  }
  return [...found.values()]
}

function shareOf(first: Uint16Array, second: Uint16Array): number {
  let equal = 0
  for (const [at, slot] of first.entries()) if (slot === second[at]) equal++
  return equal / first.length
}

function scored(a: string, b: string, { profile, canonical, threshold }: PairOptions): Pair {
  return {
    a,
    b,
    similarity: compareTexts(a, b, { profile, canonical, threshold, passagesMax: 0 }).similarity,
  }
}

/**
 * In turns from every twentieth of the scale, the twentieth nearest to the threshold first, and in each the pair nearest
 * to it: the first answers are about the threshold, and both sides of it are seen.
 */
export function inOrder(pairs: readonly Pair[], threshold: number): Pair[] {
  const distance = ({ similarity }: Pair) => Math.abs(similarity - threshold)
  const sorted = pairs.toSorted((one, other) => distance(one) - distance(other))
  const bins = new Map<number, Pair[]>()
  for (const pair of sorted) {
    const bin = Math.min(BINS - 1, Math.floor(pair.similarity * BINS))
    const others = bins.get(bin)
    if (others) others.push(pair)
    else bins.set(bin, [pair])
  }
  const ordered: Pair[] = []
  for (let round = 0; ordered.length < pairs.length; round++) {
    for (const bin of bins.values()) ordered.push(...bin.slice(round, round + 1))
  }
  return ordered
}

function invalid(message: string): Failure {
  return new Failure('invalid', 'INVALID_VALUE', message)
}
