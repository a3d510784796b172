/**
 * What do guards prevent, and what do they cost? One JSON line for each set, basis and guard: of the pairs that a
 * threshold alone would merge, how many different ones and how many duplicates a guard keeps apart, with Wilson
 * intervals.
 *
 *  - MRPC train; STS-B, all parts (4 of 5 or more are duplicates, less than 3 are not); GPTCache (a question and its
 *    rephrasing are duplicates, the rephrasing and each of the three other questions nearest to it are not).
 *  - Debian: descriptions of packages that are not the same are of different things, and those alike are many.
 *  - Articles: the planted near duplicates of 1,000.
 *
 * The data lies in `../shared/data`, or where PRESTIGE_DATA says; Debian's are asked of `apt-cache`. What is missing is
 * left out, and a line says so.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { type Basis, guardNames, readGuards, readingOf, vetoesOf } from '../src/compare/index.ts'
import { rateOf } from '../src/compare/wilson.ts'
import { openEmbedder, type SentenceEmbedder, vectorCosine } from '../src/semantic/index.ts'
import { type LabelledPair, readMrpc, readStsb } from '../test/texts/labelled-pairs.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DATA = process.env['PRESTIGE_DATA'] ?? join(ROOT, '../shared/data')
const NEAR_THRESHOLDS = [0.7, 0.8]
const MEANING_THRESHOLD = 0.85
const SHINGLE = 5
const OTHERS = 3

export type Figures = Readonly<Record<string, unknown>>
type Print = (figures: Figures) => void

interface MeasuredPair extends LabelledPair {
  readonly similarity: number
}

const plain = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()

function shinglesOf(text: string): Set<string> {
  const padded = ` ${plain(text)} `
  const shingles = new Set<string>()
  for (let at = 0; at + SHINGLE <= padded.length; at++) shingles.add(padded.slice(at, at + SHINGLE))
  if (shingles.size === 0) shingles.add(padded)
  return shingles
}

function jaccard(own: ReadonlySet<string>, others: ReadonlySet<string>): number {
  let shared = 0
  for (const one of own) if (others.has(one)) shared++
  return shared / (own.size + others.size - shared)
}

const withJaccard = (pairs: readonly LabelledPair[]): MeasuredPair[] =>
  pairs.map((pair) => {
    const similarity = jaccard(shinglesOf(pair.a), shinglesOf(pair.b))
    return { a: pair.a, b: pair.b, isDuplicate: pair.isDuplicate, similarity }
  })

function textOf(name: string): string {
  const path = join(DATA, name)
  if (!existsSync(path)) throw new Error(`There is no ${path}. Say where it is: PRESTIGE_DATA.`)
  return readFileSync(path, 'utf8')
}

function stsb(): LabelledPair[] {
  const all = ['train', 'dev', 'test'].flatMap((part) => readStsb(textOf(`stsb/sts-${part}.csv`)))
  return all
    .filter(({ score }) => score >= 4 || score < 3)
    .map(({ a, b, score }) => ({ a, b, isDuplicate: score >= 4 }))
}

interface Question {
  readonly origin: string
  readonly similar: string
}

/** `likeness`: of the rephrasing with this number and the question with that. */
function gptcache(
  questions: readonly Question[],
  likeness: (similar: number, origin: number) => number,
): MeasuredPair[] {
  return questions.flatMap(({ origin, similar }, at) => {
    const others = questions
      .map((question, other) => ({ question, similarity: likeness(at, other), other }))
      .filter(({ other, question }) => other !== at && question.origin !== origin)
      .toSorted((first, second) => second.similarity - first.similarity)
      .slice(0, OTHERS)
    const different = others.map(({ question, similarity }) => ({
      a: similar,
      b: question.origin,
      isDuplicate: false,
      similarity,
    }))
    return [
      { a: origin, b: similar, isDuplicate: true, similarity: likeness(at, at) },
      ...different,
    ]
  })
}

/** Pairs of package descriptions that are alike and not the same. */
function debian(scale: number): MeasuredPair[] {
  const listed = execFileSync('apt-cache', ['dumpavail'], { maxBuffer: 2 ** 30, encoding: 'utf8' })
  const found = listed.matchAll(/^Description(?:-en)?: (.+)$/gm)
  const all = new Map([...found].map(([, text = '']) => [plain(text), text]))
  const step = Math.max(1, Math.round(1 / scale))
  const texts = [...all.values()].filter((_, at) => at % step === 0)
  return alike(texts, Math.min(...NEAR_THRESHOLDS))
}

/** All pairs from a threshold on: sets so alike share one of their rarest shingles. */
function alike(texts: readonly string[], threshold: number): MeasuredPair[] {
  const shingles = texts.map(shinglesOf)
  const counts = new Map<string, number>()
  for (const set of shingles) for (const one of set) counts.set(one, (counts.get(one) ?? 0) + 1)
  const postings = new Map<string, number[]>()
  return shingles.flatMap((set, at) => {
    const candidates = new Set<number>()
    const rarest = [...set].toSorted((one, other) => counts.get(one)! - counts.get(other)!)
    for (const shingle of rarest.slice(0, Math.floor((1 - threshold) * set.size) + 1)) {
      const posting = postings.get(shingle)
      if (!posting) postings.set(shingle, [at])
      else {
        for (const other of posting) candidates.add(other)
        posting.push(at)
      }
    }
    return [...candidates].flatMap((other) => {
      const similarity = jaccard(set, shingles[other]!)
      if (similarity < threshold) return []
      return [{ a: texts[other]!, b: texts[at]!, isDuplicate: false, similarity }]
    })
  })
}

function articles(): LabelledPair[] {
  const rows = textOf('articles/articles_1000.train').split('\n')
  const texts = new Map(
    rows.map((row) => [row.slice(0, row.indexOf(' ')), row.slice(row.indexOf(' ') + 1)]),
  )
  const truth = textOf('articles/articles_1000.truth').split('\n').filter(Boolean)
  return truth.map((row) => {
    const [a = '', b = ''] = row.split(' ')
    return { a: texts.get(a)!, b: texts.get(b)!, isDuplicate: true }
  })
}

/** Every guard alone, and those that are on by default together. */
function measure(
  set: string,
  basis: Basis,
  threshold: number,
  pairs: readonly MeasuredPair[],
  print: Print,
): void {
  const merged = pairs.filter(({ similarity }) => similarity >= threshold)
  const readings = merged.map(({ a, b }) => [readingOf(a), readingOf(b)] as const)
  const line = (guard: string, guards: ReturnType<typeof readGuards>) => {
    const isVetoed = readings.map(([a, b]) => vetoesOf(a, b, guards, basis).length > 0)
    const counted = (isDuplicate: boolean) => {
      const of = merged.filter((pair) => pair.isDuplicate === isDuplicate).length
      const vetoed = merged.filter((pair, at) => pair.isDuplicate === isDuplicate && isVetoed[at])
      return { of, vetoed: vetoed.length, ...rounded(rateOf(vetoed.length, of)) }
    }
    print({ set, basis, threshold, guard, different: counted(false), duplicates: counted(true) })
  }
  const none = readGuards(false)
  for (const name of guardNames) line(name, { ...none, [name]: true })
  line('default', readGuards({}, basis))
}

function rounded(rate: { value: number | undefined; low: number; high: number }) {
  const digits = (value: number) => Number(value.toFixed(3))
  return { share: digits(rate.value ?? 0), low: digits(rate.low), high: digits(rate.high) }
}

export async function benchGuards(scale: number, print: Print): Promise<void> {
  const step = Math.max(1, Math.round(1 / scale))
  const some = <T>(all: readonly T[]) => all.filter((_, at) => at % step === 0)
  const say: Print = (figures) => print({ bench: 'guards', ...figures })
  const labelled = {
    'MRPC train': some(readMrpc(textOf('mrpc/msr-para-train.tsv'))),
    'STS-B': some(stsb()),
  }
  const questions: Question[] = some(JSON.parse(textOf('gptcache/mock_data.json')))
  const origins = questions.map(({ origin }) => shinglesOf(origin))
  const similars = questions.map(({ similar }) => shinglesOf(similar))
  const near: Record<string, MeasuredPair[]> = {
    'MRPC train': withJaccard(labelled['MRPC train']),
    'STS-B': withJaccard(labelled['STS-B']),
    GPTCache: gptcache(questions, (similar, origin) =>
      jaccard(similars[similar]!, origins[origin]!),
    ),
    'articles 1000': withJaccard(articles()),
    ...(hasApt() && { Debian: debian(scale) }),
  }
  if (!hasApt()) say({ set: 'Debian', skipped: 'there is no apt-cache' })
  for (const [set, pairs] of Object.entries(near)) {
    for (const threshold of NEAR_THRESHOLDS) measure(set, 'near', threshold, pairs, say)
  }
  await using embedder = await disposable()
  for (const [set, pairs] of Object.entries(labelled)) {
    measure(set, 'meaning', MEANING_THRESHOLD, await withCosine(embedder.model, pairs), say)
  }
  const originVectors = await embedder.model.embed(questions.map(({ origin }) => origin))
  const similarVectors = await embedder.model.embed(questions.map(({ similar }) => similar))
  const asked = gptcache(questions, (similar, origin) =>
    vectorCosine(similarVectors[similar]!, originVectors[origin]!),
  )
  measure('GPTCache', 'meaning', MEANING_THRESHOLD, asked, say)
}

function hasApt(): boolean {
  return existsSync('/usr/bin/apt-cache')
}

async function disposable() {
  const model = await openEmbedder()
  return { model, [Symbol.asyncDispose]: () => model.close() }
}

async function withCosine(
  embedder: SentenceEmbedder,
  pairs: readonly LabelledPair[],
): Promise<MeasuredPair[]> {
  const vectors = await embedder.embed(pairs.flatMap(({ a, b }) => [a, b]))
  return pairs.map(({ a, b, isDuplicate }, at) => {
    const similarity = vectorCosine(vectors[at * 2]!, vectors[at * 2 + 1]!)
    return { a, b, isDuplicate, similarity }
  })
}
