/**
 * How many wrong answers does the cache serve, beside a bare threshold that gives as many right ones?
 *
 * GPTCache's questions: all `origin`s are set, each with itself as its answer, and every `similar` is asked. An answer is right if
 * it is the origin of a pair with this very rephrasing. Origins that differ in case or white space alone are one prompt. Both
 * caches look the same way, by the same vectors; the bare one has no guards and no margin.
 *
 * The data lies in `../shared/data`, or where PRESTIGE_DATA says. Every question counts with the similarity at which it was
 * served, so one pass gives the figures of all thresholds above the lowest.
 */

import { openCache } from '../src/cache/index.ts'
import { cachedEmbedder, openEmbedder } from '../src/semantic/index.ts'
import { MemoryBackend } from '../src/backends/memory/index.ts'
import { labelledSet } from './harness/labelled-sets.ts'

const THRESHOLD = 0.7
const RIGHT = [300, 400, 500, 600, 700, 750]
const MARGINS = [0, 0.01, 0.02, 0.03, 0.05]
/** Of the wrong answers at most so many are left, at the default margin. */
const LEFT_MAX = 0.6

interface Asked {
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
  options: { margin: number; guards?: false },
): Promise<Asked[]> {
  await using cache = await openCache('memory:', { model, threshold: THRESHOLD, ...options })
  for (const { a } of pairs) await cache.set(a, folded(a))
  const asked: Asked[] = []
  for (const { b } of pairs) {
    const hit = await cache.get<string>(b)
    if (!hit) continue
    const isRight = right.get(folded(b))?.has(hit.answer) || hit.answer === folded(b)
    asked.push({ similarity: hit.similarity, isRight })
  }
  return asked.toSorted((one, other) => other.similarity - one.similarity)
}

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

export async function benchCache(scale: number, print: (line: Figures) => void): Promise<void> {
  const data = pairsOf(scale)
  const embedder = await openEmbedder()
  const model = cachedEmbedder(embedder, new MemoryBackend())
  try {
    const bare = await ask(model, data, { margin: 0, guards: false })
    for (const margin of MARGINS) {
      const asked = await ask(model, data, { margin })
      for (const wanted of RIGHT.map((right) => Math.round(right * scale))) {
        const [own, other] = [at(asked, wanted), at(bare, wanted)]
        const saved = own && other && other.wrong > 0 ? 1 - own.wrong / other.wrong : undefined
        print({
          bench: 'cache',
          case: `GPTCache questions, margin ${margin}`,
          questions: data.pairs.length,
          right: wanted,
          ...own,
          bare: other,
          wrongSaved: saved === undefined ? undefined : Number(saved.toFixed(3)),
          ...(margin === 0.02 && saved !== undefined && { isWithin: saved >= 1 - LEFT_MAX }),
        })
      }
    }
  } finally {
    await embedder.close()
  }
}
