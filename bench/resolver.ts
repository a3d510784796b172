/**
 * What does it cost to resolve, end to end, beside the naive way: maps of band strings in memory, which forget
 * everything at the end? Documents of 10 KB stand beside sketching the same texts alone.
 *
 * Short texts are of 25 random letters; every fixture holds as many of them as the case says, and documents come
 * on top of those, as do new texts of the warm-up: `representatives` is how many there were at the end. What is known
 * is asked for with the answer cache off (`from rows`) or on (`from memory`). A near match is a text of the fixture
 * with a letter more.
 */

import { openResolver, type Resolver } from 'prestige-dedup'

import type { Bench, Case, Fixture, Limits, Place, Sample } from './harness/bench.ts'
import { randomNumbers, scaled, shuffled } from './harness/data.ts'
import { diskBytes, inFlight, measure, nextTurn } from './harness/measure.ts'
import { naiveIndex, sketchAlone } from './harness/naive-index.ts'
import { buildMillion, journalOf } from './harness/near-journal.ts'

const GROUP = 'bench'
const FLIGHT = 32
const CACHE_OFF = { cacheMax: 0 } as const
const LETTERS = 'abcdefghijklmnopqrstuvwxyz    '
const TEXT_LETTERS = 25
const DOCUMENT_BYTES = 10_000
const DOCUMENTS = 2_000
const TEXTS = 20_000

/** Code settles in the third round of documents, which are few; of texts one is enough. */
const warmSeeds = ({ what }: ResolveCase) => (what === 'new, 10 KB' ? [2, 4, 5] : [2])

type Engine = 'lmdb' | 'memory'
type What =
  | 'new, 25 characters'
  | 'new, 10 KB'
  | 'known, from rows'
  | 'known, from memory'
  | 'near match'
  | 'lookup of what is known'
  | 'lookup of what is not'

interface ResolveCase {
  readonly engine: Engine
  readonly what: What
  readonly representatives: 10_000 | 100_000
}

function letters(pick: (below: number) => number, length: number): string {
  let text = ''
  while (text.length < length) text += LETTERS[pick(LETTERS.length)]
  return text
}

function texts(count: number, seed: number): string[] {
  const pick = randomNumbers(seed)
  return Array.from({ length: count }, () => letters(pick, TEXT_LETTERS))
}

function word(pick: (below: number) => number): string {
  return letters(pick, 3 + pick(8)).replaceAll(' ', 'e')
}

function documents(count: number, seed: number): string[] {
  const pick = randomNumbers(seed)
  const words = Array.from({ length: 20_000 }, () => word(pick))
  return Array.from({ length: count }, () => {
    let text = ''
    while (text.length < DOCUMENT_BYTES) text += `${words[pick(words.length)]} `
    return Buffer.from(text).toString() // in one piece, as what was read from somewhere is
  })
}

const known = ({ representatives }: ResolveCase, scale: number) =>
  texts(scaled(representatives, scale), 1)

/** What is asked, in an order that has nothing to do with any tree. */
function questions(one: ResolveCase, scale: number, seed: number): string[] {
  const { what } = one
  if (what === 'new, 10 KB') return documents(scaled(DOCUMENTS, scale), seed)
  const count = scaled(TEXTS, scale)
  if (what === 'new, 25 characters' || what === 'lookup of what is not') return texts(count, seed)
  const there = known(one, scale)
  const order = shuffled(there.length, seed)
  const near = what === 'near match' ? String.fromCodePoint(96 + seed) : ''
  return Array.from(
    { length: count },
    (_, at) => `${there[order[at % order.length]!]!}${near}${repeatMark(one, at, order.length)}`,
  )
}

/** A near match is one only once: asked again, it is known. */
function repeatMark({ what }: ResolveCase, at: number, length: number): string {
  return what === 'near match' && at >= length ? 'xy'[Math.floor(at / length) % 2]! : ''
}

async function fill(resolver: Resolver, all: readonly string[]): Promise<void> {
  await inFlight(256, all.length, (at) => resolver.resolve(GROUP, all[at]!))
}

function fixtureOf(one: ResolveCase): Fixture {
  return {
    name: `ours-${one.representatives}`,
    async build({ directory, scale }) {
      const resolver = await openResolver(directory, { durability: 'os', ...CACHE_OFF })
      await fill(resolver, known(one, scale))
      await resolver.close()
    },
  }
}

async function ask(resolver: Resolver, { what }: ResolveCase, all: readonly string[]) {
  const perform = what.startsWith('lookup')
    ? (at: number) => resolver.lookup(GROUP, all[at]!)
    : (at: number) => resolver.resolve(GROUP, all[at]!)
  await inFlight(FLIGHT, all.length, perform)
}

async function runOurs(one: ResolveCase, place: Place): Promise<Sample> {
  const { engine, what } = one
  const cache = what === 'known, from memory' ? { cacheMs: 600_000 } : CACHE_OFF
  const options = engine === 'lmdb' ? ({ durability: 'os', ...cache } as const) : cache
  const resolver = await openResolver(engine === 'lmdb' ? place.directory : 'memory:', options)
  if (engine === 'memory') await fill(resolver, known(one, place.scale))
  const all = questions(one, place.scale, 3)
  for (const seed of warmSeeds(one)) {
    const asked = what === 'known, from memory' ? all : questions(one, place.scale, seed)
    await ask(resolver, one, asked)
  }
  await nextTurn()
  const sample = await measure({ ops: all.length, place }, () => ask(resolver, one, all))
  const { clusters, tables } = await resolver.stats(GROUP, { largest: 0 })
  await resolver.close()
  const { buckets = 0, signatures = 0, ids = 0 } = tables?.bytes ?? {}
  return {
    ...sample,
    representatives: clusters,
    tableBytes: buckets + signatures + ids,
    ...(engine === 'lmdb' && { diskBytes: await diskBytes(place.directory) }),
  }
}

/** Naively: every text sketched, its bands asked for and kept in maps of strings. */
async function runNaive(one: ResolveCase, place: Place): Promise<Sample> {
  const index = naiveIndex()
  for (const text of known(one, place.scale)) index.resolve(text)
  const perform = one.what.startsWith('lookup') ? index.lookup : index.resolve
  for (const seed of warmSeeds(one)) {
    for (const text of questions(one, place.scale, seed)) perform(text)
  }
  const all = questions(one, place.scale, 3)
  await nextTurn()
  return measure({ ops: all.length, place }, async () => all.forEach(perform))
}

async function runSketches(one: ResolveCase, place: Place): Promise<Sample> {
  for (const seed of warmSeeds(one)) questions(one, place.scale, seed).forEach(sketchAlone)
  const all = questions(one, place.scale, 3)
  return measure({ ops: all.length, place }, async () => all.forEach(sketchAlone))
}

function limitsOf({ what, engine }: ResolveCase): Limits | undefined {
  if (engine === 'memory') return undefined
  if (what === 'new, 10 KB') return { ratioMax: 3 }
  return what === 'new, 25 characters' ? { cpuMicrosMax: 60 } : undefined
}

function caseOf(one: ResolveCase): Case {
  const { engine, what, representatives } = one
  const isDocument = what === 'new, 10 KB'
  const limits = limitsOf(one)
  return {
    name: `${what}; ${representatives / 1000} k, ${engine}`,
    ours: {
      ...(engine === 'lmdb' && { fixture: fixtureOf(one) }),
      run: (place) => runOurs(one, place),
    },
    reference: {
      name: isDocument ? 'sketching alone' : 'maps of band strings',
      run: (place) => (isDocument ? runSketches(one, place) : runNaive(one, place)),
    },
    changesFixture: true,
    ...(limits && { limits }),
  }
}

const WHATS: readonly What[] = [
  'new, 25 characters',
  'new, 10 KB',
  'known, from rows',
  'known, from memory',
  'near match',
  'lookup of what is known',
  'lookup of what is not',
]

function* all(): Generator<ResolveCase> {
  for (const engine of ['lmdb', 'memory'] as const) {
    for (const representatives of [10_000, 100_000] as const) {
      for (const what of WHATS) yield { engine, what, representatives }
    }
  }
}

const million: Fixture = { name: 'million', build: buildMillion }

/** Until the first answer: the tables are chained by the first search. */
const reopening: Case = {
  name: 'reopen with 1 M sketches, lmdb',
  ours: {
    fixture: million,
    run: async (place) => {
      let resolver: Resolver | undefined
      const sample = await measure({ ops: 1, place }, async () => {
        resolver = await openResolver(place.directory, { durability: 'os' })
        await resolver.lookup(GROUP, 'what was never there at all')
      })
      const tables = (await resolver?.stats(GROUP, { largest: 0 }))?.tables
      await resolver?.close()
      const { buckets = 0, signatures = 0, ids = 0 } = tables?.bytes ?? {}
      const representatives = scaled(1_000_000, place.scale)
      return { ...sample, representatives, tableBytes: buckets + signatures + ids }
    },
  },
  reference: {
    name: 'lmdb, reading the same rows',
    fixture: million,
    run: (place) => measure({ ops: 1, place }, async () => journalOf(place)),
  },
  limits: { wallMsMax: 5000 },
}

export const bench: Bench = {
  name: 'resolver',
  question: 'What does it cost to find out what a text is, against maps of band strings?',
  cases: [...[...all()].map(caseOf), reopening],
}
