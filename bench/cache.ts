/**
 * How many wrong answers does the cache serve, beside a bare threshold that gives as many right ones?
 *
 * GPTCache's questions: all `origin`s are set, each with itself as its answer, and every `similar` is asked. An answer is right if
 * it is the origin of a pair with this very rephrasing. Origins that differ in case or white space alone are one prompt. Both
 * caches look the same way, by the same vectors; the bare one has no guards and no margin.
 *
 * The data lies in `../shared/data`, or where PRESTIGE_DATA says. Every question counts with the similarity at which it was
 * served, so one pass gives the figures of all thresholds above the lowest.
 *
 * The margin is chosen by cross-validation: that of each fifth of the questions is the best on the other four. The figure
 * counts that way; those of fixed margins are printed beside it. In a second form every other answer is missing.
 */

import { openCache } from '../src/cache/index.ts'
import { cachedEmbedder, openEmbedder } from '../src/semantic/index.ts'
import { MemoryBackend } from '../src/backends/memory/index.ts'
import { labelledSet } from './harness/labelled-sets.ts'

const THRESHOLD = 0.7
const RIGHT = [300, 400, 500, 600, 700, 750]
const MARGINS = [0, 0.1, 0.2, 0.3, 0.4, 0.5]
const FOLDS = 5
/** Of the wrong answers at most so many are left, by cross-validation. */
const LEFT_MAX = 0.6

interface Asked {
  readonly question: number
  readonly similarity: number
  readonly isRight: boolean
}

type Figures = Readonly<Record<string, unknown>>
type Embedder = ReturnType<typeof cachedEmbedder>

const folded = (text: string) => text.toLowerCase().replaceAll(/\s+/g, ' ').trim()

function pairsOf(scale: number) {
  const step = Math.max(1, Math.round(1 / scale))
  const pairs = labelledSet('questions').filter(({ isDuplicate }) => isDuplicate)
  const some = pairs.filter((_, at) => at % step === 0)
  const right = new Map<string, Set<string>>()
  for (const { a, b } of some) {
    const answers = right.get(folded(b)) ?? new Set()
    right.set(folded(b), answers.add(folded(a)))
  }
  return { pairs: some, right }
}

async function ask(
  model: Embedder,
  { pairs, right }: ReturnType<typeof pairsOf>,
  { step = 1, ...options }: { margin: number; guards?: false; step?: number },
): Promise<Asked[]> {
  await using cache = await openCache('memory:', { model, threshold: THRESHOLD, ...options })
  for (const [at, { a }] of pairs.entries()) if (at % step === 0) await cache.set(a, folded(a))
  const asked: Asked[] = []
  for (const [question, { b }] of pairs.entries()) {
    const hit = await cache.get<string>(b)
    if (!hit) continue
    const isRight = right.get(folded(b))?.has(hit.answer) || hit.answer === folded(b)
    asked.push({ question, similarity: hit.similarity, isRight })
  }
  return ranked(asked)
}

const ranked = (asked: readonly Asked[]) =>
  asked.toSorted((one, other) => other.similarity - one.similarity)

/** At the highest threshold with so many right answers. */
function at(asked: readonly Asked[], wanted: number) {
  let right = 0
  let wrong = 0
  for (const { similarity, isRight } of asked) {
    if (isRight) right++
    else wrong++
    if (right === wanted) return { threshold: Number(similarity.toFixed(4)), wrong }
  }
  return undefined
}

/** Of each fold what the margin gives that is best on all others: the one with the fewest wrong answers in all. */
function crossValidated(byMargin: readonly (readonly Asked[])[], wanted: readonly number[]) {
  const chosen: number[] = []
  const asked: Asked[] = []
  for (let fold = 0; fold < FOLDS; fold++) {
    const isOwn = ({ question }: Asked) => question % FOLDS === fold
    const costs = byMargin.map((all) => {
      const others = all.filter((one) => !isOwn(one))
      const share = (right: number) => Math.round((right * (FOLDS - 1)) / FOLDS)
      return wanted.reduce((sum, right) => sum + (at(others, share(right))?.wrong ?? Infinity), 0)
    })
    const best = costs.indexOf(Math.min(...costs))
    chosen.push(MARGINS[best]!)
    asked.push(...byMargin[best]!.filter(isOwn))
  }
  return { chosen, asked: ranked(asked) }
}

/** Beside the bare threshold, at as many right answers. */
function compared(asked: readonly Asked[], bare: readonly Asked[], wanted: number) {
  const [own, other] = [at(asked, wanted), at(bare, wanted)]
  const saved = own && other && other.wrong > 0 ? 1 - own.wrong / other.wrong : undefined
  const wrongSaved = saved === undefined ? undefined : Number(saved.toFixed(3))
  return { right: wanted, ...own, bare: other, wrongSaved }
}

export async function benchCache(scale: number, print: (line: Figures) => void): Promise<void> {
  const data = pairsOf(scale)
  const embedder = await openEmbedder()
  const model = cachedEmbedder(embedder, new MemoryBackend())
  try {
    for (const step of [1, 2]) {
      const bare = await ask(model, data, { margin: 0, guards: false, step })
      const wanted = RIGHT.map((right) => Math.round((right * scale) / step))
      const byMargin: Asked[][] = []
      for (const margin of MARGINS) byMargin.push(await ask(model, data, { margin, step }))
      const say = (name: string, asked: readonly Asked[], more: Figures = {}) => {
        for (const right of wanted) {
          const figures = compared(asked, bare, right)
          const { wrongSaved } = figures
          const isWithin = wrongSaved === undefined || wrongSaved >= 1 - LEFT_MAX
          const stored = step === 1 ? '' : ', every other answer missing'
          print({
            bench: 'cache',
            case: `GPTCache questions${stored}, ${name}`,
            questions: data.pairs.length,
            ...figures,
            ...more,
            ...(more['margins'] !== undefined && step === 1 && { isWithin }),
          })
        }
      }
      byMargin.forEach((asked, nth) => say(`margin ${MARGINS[nth]}`, asked))
      const { chosen, asked } = crossValidated(byMargin, wanted)
      say('cross-validated', asked, { margins: chosen })
    }
  } finally {
    await embedder.close()
  }
}
