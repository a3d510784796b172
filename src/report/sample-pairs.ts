/**
 * Texts of sample duplicates, laid side by side. They are read again from the inputs.
 *
 * Invariant: what is shown is what was decided about. A text whose digest is another than the one that is
 * recorded is not shown, and said to have changed.
 */

import type { Backend } from '../backends/index.ts'
import { alignTexts, type Span } from '../compare/index.ts'
import {
  documentsOfIds,
  type FoundText,
  hex,
  type Method,
  named,
  type Named,
  type StoredDocument,
  textsOf,
} from '../dedupe/index.ts'
import type { ReadingInput } from '../input/index.ts'
import type { Report } from './report.ts'

/** So much of a text is compared. */
const CHARACTERS_MAX = 50_000
const EDITS_MAX = 2000
const CLOSEST_MAX = 6
const CLUSTERS_MAX = 4
const PASSAGES_MAX = 2
/** Characters of a text that say which it is. */
const BEGINNING_MAX = 160

export interface SamplePair {
  readonly a: Named
  /** What `a` was measured against. */
  readonly b: Named
  readonly method: Method
  readonly similarity?: number
  /** Why it is shown: a sentence. */
  readonly why: string
  readonly spans?: readonly Span[]
  /** What the spans do not show, as sentences. */
  readonly notes: readonly string[]
}

type Wanted = Omit<SamplePair, 'spans' | 'notes'>

/** What a report shows of texts. */
export interface Samples {
  readonly pairs: readonly SamplePair[]
  /** How the texts of the largest clusters begin, by `nameOf`; in place of those that are gone, a sentence. */
  readonly beginnings: ReadonlyMap<string, string>
}

export async function samplePairs(
  backend: Backend,
  report: Report,
  reading?: ReadingInput,
): Promise<SamplePair[]> {
  const wanted = pairsOf(report)
  const texts = await textsByName(backend, report.run.id, sidesOf(wanted), reading)
  return wanted.map((pair) => alignedPair(pair, texts, report.config.canonical.profile))
}

/** Pairs side by side, and how texts of clusters begin. Inputs are read once for both. */
export async function samplesOf(
  backend: Backend,
  report: Report,
  reading?: ReadingInput,
): Promise<Samples> {
  const wanted = pairsOf(report)
  const shown = clusteredIn(report)
  const texts = await textsByName(backend, report.run.id, [...sidesOf(wanted), ...shown], reading)
  const canonical = report.config.canonical.profile
  return {
    pairs: wanted.map((pair) => alignedPair(pair, texts, canonical)),
    beginnings: new Map(shown.map((one) => [nameOf(one), beginningOf(texts.get(nameOf(one)))])),
  }
}

function sidesOf(pairs: readonly Wanted[]): Named[] {
  return pairs.flatMap(({ a, b }) => [a, b])
}

function clusteredIn({ clusters }: Report): Named[] {
  return clusters.largest.flatMap(({ id, source, survivor, members }) =>
    [{ id, source }, survivor, ...members].map(named),
  )
}

function beginningOf(found: FoundText | undefined): string {
  const text = found?.text
  if (text === undefined) return 'Its input is gone or has changed.'
  const line = text
    .slice(0, BEGINNING_MAX * 4)
    .replaceAll(/\s+/g, ' ')
    .trim()
  const characters = Array.from(line)
  if (characters.length <= BEGINNING_MAX) return line
  return `${characters.slice(0, BEGINNING_MAX).join('')}…`
}

/** Pairs that are worth a look; copies that are the same, byte for byte, are not. */
function pairsOf({ closestCalls, clusters, passages }: Report): Wanted[] {
  const pairs: Wanted[] = closestCalls.slice(0, CLOSEST_MAX).map((call) => ({
    a: named(call),
    b: named(call.of),
    method: call.method,
    similarity: call.similarity,
    why: 'One of the least similar pairs that were taken for duplicates.',
  }))
  for (const { members, ...centre } of clusters.largest) {
    const member = members.find(({ method }) => method !== 'exact')
    if (!member || !isShownMethod(member.method) || pairs.length >= CLOSEST_MAX + CLUSTERS_MAX)
      continue
    const why = `A member of one of the largest clusters (${centre.size} documents).`
    const { method, similarity } = member
    pairs.push({ a: named(member), b: named(centre), method, similarity, why })
  }
  for (const { of, ...passage } of passages.longest.slice(0, PASSAGES_MAX)) {
    const why = 'Linked: they share passages, and are otherwise different.'
    pairs.push({ a: named(passage), b: named(of), method: 'chunk', why })
  }
  const seen = new Set<string>()
  return pairs.filter(({ a, b }) => {
    const pair = nameOf(a) + nameOf(b)
    return !seen.has(pair) && seen.add(pair)
  })
}

/**
 * Texts by `nameOf`. Documents of different files may have the same id and source: one that this run decided about
 * comes first.
 */
export async function textsByName(
  backend: Backend,
  run: string,
  wanted: readonly Named[],
  reading?: ReadingInput,
): Promise<Map<string, FoundText>> {
  const names = new Set(wanted.map(nameOf))
  const rows = new Map<string, StoredDocument>()
  for (const document of await documentsOfIds(backend, new Set(wanted.map(({ id }) => id)))) {
    const name = nameOf(document.row)
    if (!names.has(name)) continue
    const known = rows.get(name)
    if (!known || (known.row.run !== run && document.row.run === run)) rows.set(name, document)
  }
  const texts = await textsOf(backend, rows.values(), reading)
  return new Map(
    Array.from(rows, ([name, { key }]) => [name, texts.get(hex(key)) ?? { missing: '' }]),
  )
}

/** Ids of two sources may be the same. */
export function nameOf({ id, source }: Named): string {
  return JSON.stringify([source, id])
}

function isShownMethod(method: string): method is Method {
  return method === 'canonical' || method === 'simhash' || method === 'near'
}

function alignedPair(
  pair: Wanted,
  texts: ReadonlyMap<string, FoundText>,
  canonical: Report['config']['canonical']['profile'],
): SamplePair {
  const sides = [pair.a, pair.b].map(
    (side): FoundText => texts.get(nameOf(side)) ?? { missing: unknown(side.id) },
  )
  const missing = sides.flatMap((side) => side.missing ?? [])
  const [a = '', b = ''] = sides.map(({ text }) => text ?? '')
  if (missing.length > 0) return { ...pair, notes: missing }
  return { ...pair, ...alignedTexts(a, b, canonical) }
}

/** What two texts share and do not, within bounds, and what that leaves out, as sentences. */
export function alignedTexts(
  a: string,
  b: string,
  canonical: Report['config']['canonical']['profile'],
): { readonly spans: readonly Span[]; readonly notes: readonly string[] } {
  const [first, second] = [cut(a), cut(b)]
  const { spans, isComplete } = alignTexts(first, second, { canonical, editsMax: EDITS_MAX })
  const notes: string[] = []
  if (first.length < a.length || second.length < b.length) {
    notes.push(
      `Only the first ${CHARACTERS_MAX.toLocaleString('en')} characters are compared here.`,
    )
  }
  if (!isComplete) notes.push('The texts differ much; they may share more than is shown.')
  return { spans, notes }
}

/** Never in the middle of a surrogate pair. */
function cut(text: string): string {
  if (text.length <= CHARACTERS_MAX) return text
  const isSplit = /[\ud800-\udbff]$/.test(text.slice(0, CHARACTERS_MAX))
  return text.slice(0, CHARACTERS_MAX - (isSplit ? 1 : 0))
}

function unknown(id: string): string {
  return `Document ${JSON.stringify(id)} is not in the state any more.`
}
