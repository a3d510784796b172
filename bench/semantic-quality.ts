/**
 * How good is the judgement of meaning, on labelled data? One JSON line a set, made by the built-in model from npm.
 *
 *  - STS-B test: rank correlation of cosines with what people say.
 *  - MRPC train: what guards save and cost at a threshold of 0.85, each alone and all together, beside the bare
 *    threshold that finds as many. Guards were chosen by these pairs; STS-B test (4 of 5 or more) tells how they do on
 *    others.
 *  - GPTCache: every `similar` is looked up among all `origin`s; the most similar is right or wrong, or missed if it is
 *    below the threshold. Thresholds are those that miss as many as the published figures do.
 *
 * The data lies in `../shared/data`, or where PRESTIGE_DATA says. The name of a model may be given.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { openEmbedder, type SentenceEmbedder, vectorCosine } from '../src/semantic/index.ts'
import {
  type GuardName,
  guardNames,
  readGuards,
  readingOf,
  vetoesOf,
} from '../src/compare/index.ts'
import { type LabelledPair, readMrpc, readStsb, spearman } from '../test/texts/labelled-pairs.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DATA = process.env['PRESTIGE_DATA'] ?? join(ROOT, '../shared/data')
const THRESHOLD = 0.85
const STSB_MIN = 0.82
/** Right, wrong and missed of 999, as published. */
const GPTCACHE = [
  { right: 425, wrong: 25, missed: 549 },
  { right: 804, wrong: 77, missed: 118 },
  { right: 904, wrong: 92, missed: 3 },
]

export type Figures = Readonly<Record<string, unknown>> & { readonly case: string }

/** Every nth pair, so that a part of it all can be run. */
function read<T>(name: string, of: (text: string) => T[], scale: number): T[] {
  const path = join(DATA, name)
  if (!existsSync(path)) throw new Error(`There is no ${path}. Say where it is: PRESTIGE_DATA.`)
  const step = Math.max(1, Math.round(1 / scale))
  return of(readFileSync(path, 'utf8')).filter((_, at) => at % step === 0)
}

async function cosines(
  embedder: SentenceEmbedder,
  pairs: readonly { readonly a: string; readonly b: string }[],
): Promise<number[]> {
  const vectors = await embedder.embed(pairs.flatMap(({ a, b }) => [a, b]))
  return pairs.map((_, at) => vectorCosine(vectors[at * 2]!, vectors[at * 2 + 1]!))
}

async function stsb(embedder: SentenceEmbedder, scale: number): Promise<Figures> {
  const pairs = read('stsb/sts-test.csv', readStsb, scale)
  const found = await cosines(embedder, pairs)
  const rho = spearman(
    found,
    pairs.map(({ score }) => score),
  )
  return {
    case: 'STS-B test',
    pairs: pairs.length,
    spearman: digits(rho),
    isWithin: rho >= STSB_MIN,
  }
}

const digits = (value: number) => Number(value.toFixed(4))

async function mrpc(embedder: SentenceEmbedder, scale: number): Promise<Figures[]> {
  return guarded(embedder, 'MRPC train', read('mrpc/msr-para-train.tsv', readMrpc, scale), true)
}

/** Pairs on which no guard was made; people give duplicates 4 of 5 or more. */
async function stsbGuarded(embedder: SentenceEmbedder, scale: number): Promise<Figures[]> {
  const pairs = read('stsb/sts-test.csv', readStsb, scale)
  const labelled = pairs.map(({ a, b, score }) => ({ a, b, isDuplicate: score >= 4 }))
  return guarded(embedder, 'STS-B test', labelled, false)
}

async function guarded(
  embedder: SentenceEmbedder,
  set: string,
  pairs: readonly LabelledPair[],
  hasTarget: boolean,
): Promise<Figures[]> {
  const found = await cosines(embedder, pairs)
  const readings = pairs.map(({ a, b }) => [readingOf(a), readingOf(b)] as const)
  const duplicates = pairs.filter(({ isDuplicate }) => isDuplicate).length
  const countAt = (threshold: number, guards: Readonly<Record<GuardName, boolean>>) => {
    let right = 0
    let wrong = 0
    pairs.forEach(({ isDuplicate }, at) => {
      if (found[at]! < threshold || vetoesOf(...readings[at]!, guards).length > 0) return
      if (isDuplicate) right++
      else wrong++
    })
    return {
      right,
      wrong,
      precision: digits(right / (right + wrong)),
      recall: digits(right / duplicates),
    }
  }
  const none = readGuards(false)
  const bare = countAt(THRESHOLD, none)
  const told = (name: string, guards: Readonly<Record<GuardName, boolean>>): Figures => {
    const guarded = countAt(THRESHOLD, guards)
    const same = sameRecall(guarded.right)
    return {
      case: `${set}, threshold ${THRESHOLD}, ${name}`,
      pairs: pairs.length,
      ...guarded,
      wrongSaved: digits(1 - guarded.wrong / bare.wrong),
      recallPointsLost: digits((bare.recall - guarded.recall) * 100),
      bareWithSameRecall: same,
      ...(hasTarget &&
        name === 'all guards' && {
          isWithin:
            guarded.wrong <= bare.wrong * 0.75 &&
            bare.recall - guarded.recall <= 0.1 &&
            guarded.wrong < same.wrong,
        }),
    }
  }
  /** The highest bare threshold that finds as many duplicates. */
  const sameRecall = (right: number) => {
    const sorted = found
      .filter((_, at) => pairs[at]!.isDuplicate)
      .toSorted((first, second) => second - first)
    const threshold = sorted[right - 1] ?? 1
    return { threshold: digits(threshold), ...countAt(threshold, none) }
  }
  return [
    { case: `${set}, threshold ${THRESHOLD}, bare`, pairs: pairs.length, ...bare },
    ...guardNames.map((name) => told(name, { ...none, [name]: true })),
    told('all guards', readGuards()),
  ]
}

async function gptcache(embedder: SentenceEmbedder, scale: number): Promise<Figures[]> {
  const pairs = read<{ origin: string; similar: string }>(
    'gptcache/mock_data.json',
    (text) => JSON.parse(text),
    scale,
  )
  const origins = await embedder.embed(pairs.map(({ origin }) => origin))
  const similars = await embedder.embed(pairs.map(({ similar }) => similar))
  const looked = similars
    .map((query, at) => {
      const all = origins.map((vector) => vectorCosine(query, vector))
      const best = all.indexOf(Math.max(...all))
      return { similarity: all[best]!, isRight: best === at }
    })
    .toSorted((first, second) => second.similarity - first.similarity)
  return GPTCACHE.map((published) => {
    const kept = looked.slice(0, Math.round(looked.length * (1 - published.missed / 999)))
    const right = kept.filter(({ isRight }) => isRight).length
    const wrong = kept.length - right
    return {
      case: `GPTCache, as many missed as published (${published.missed})`,
      pairs: pairs.length,
      threshold: digits(kept.at(-1)?.similarity ?? 1),
      right,
      wrong,
      missed: looked.length - kept.length,
      published,
      isWithin: right > published.right && wrong < published.wrong,
    }
  })
}

export async function benchSemanticQuality(
  scale: number,
  print: (figures: Figures) => void,
  model?: string,
): Promise<void> {
  const embedder = await openEmbedder(model)
  const say = (figures: Figures) =>
    print({ bench: 'semantic-quality', embedder: embedder.id, ...figures })
  try {
    say(await stsb(embedder, scale))
    for (const figures of await gptcache(embedder, scale)) say(figures)
    for (const figures of await mrpc(embedder, scale)) say(figures)
    for (const figures of await stsbGuarded(embedder, scale)) say(figures)
  } finally {
    await embedder.close()
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await benchSemanticQuality(
    1,
    (figures) => process.stdout.write(`${JSON.stringify(figures)}\n`),
    process.argv[2],
  )
}
