/**
 * Writes `src/compare/judge/default-judges.ts`: weights, no texts. Run it after a change of features or guards:
 *
 *     apt-cache dumpavail | sed -n 's/^Description\(-en\)\?: //p' > titles.txt
 *     npx tsx scripts/make-judge.ts titles.txt
 *
 * Fitted on MRPC train, STS-B train (duplicates from 4 of 5 on), pairs of GPTCache, titles of Debian packages that look
 * alike and are different, and texts of all these beside themselves with one typing mistake. The sets lie in
 * `../shared/data`, or where PRESTIGE_DATA says. Prints figures by five folds for docs/judge-card.md.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

import { randomNumbers } from '../bench/harness/data.ts'
import { type CosinePair, labelledSet, withCosines } from '../bench/harness/labelled-sets.ts'
import { fitAndScore } from '../src/compare/judge/fit-judge.ts'
import type { JudgeModel } from '../src/compare/judge/model.ts'
import { jaccard, shingleHashes } from '../src/fingerprint/index.ts'
import { openEmbedder } from '../src/semantic/index.ts'
import type { LabelledPair } from '../test/texts/labelled-pairs.ts'

const TARGET = new URL('../src/compare/judge/default-judges.ts', import.meta.url)
const NAME = 'MRPC train, STS-B train, GPTCache, titles of Debian packages, typing mistakes'
const TITLES_MAX = 6000
const STRETCH = 25
const TITLE_PAIRS_MAX = 1500
const TITLE_SIMILARITY_MIN = 0.5
const TYPOS = 1500

/** Different packages whose titles look alike: each title with the most similar other one. */
function titlePairs(lines: readonly string[]): LabelledPair[] {
  const all = [...new Set(lines)].toSorted()
  // Whole stretches of the sorted titles, because what looks alike is often side by side there.
  const every = Math.max(1, Math.round(all.length / TITLES_MAX))
  const titles = all.filter((_, at) => Math.floor(at / STRETCH) % every === 0)
  const hashes = titles.map((title) => shingleHashes(title.toLowerCase(), 'chars-3'))
  const pairs: LabelledPair[] = []
  titles.forEach((a, at) => {
    let best = -1
    let most = TITLE_SIMILARITY_MIN
    for (let other = at + 1; other < titles.length; other++) {
      const similarity = jaccard(hashes[at]!, hashes[other]!)
      if (similarity <= most || titles[other]!.toLowerCase() === a.toLowerCase()) continue
      most = similarity
      best = other
    }
    if (best >= 0) pairs.push({ a, b: titles[best]!, isDuplicate: false })
  })
  const step = Math.max(1, pairs.length / TITLE_PAIRS_MAX)
  return pairs.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step))
}

/** A text beside itself with two letters of a longer word swapped, one left out, or one twice. */
export function typoPairs(texts: readonly string[], count: number): LabelledPair[] {
  const pick = randomNumbers(1)
  const pairs: LabelledPair[] = []
  while (pairs.length < count) {
    const a = texts[pick(texts.length)]!
    const words = [...a.matchAll(/\p{Ll}{5,}/gu)]
    const word = words[pick(Math.max(1, words.length))]
    if (word === undefined) continue
    const at = word.index + 1 + pick(word[0].length - 3)
    const [before, one, other, behind] = [a.slice(0, at), a[at]!, a[at + 1]!, a.slice(at + 2)]
    const b = [`${other}${one}`, other, `${one}${one}${other}`][pick(3)]!
    pairs.push({ a, b: before + b + behind, isDuplicate: true })
  }
  return pairs
}

function figuresOf(
  set: string,
  pairs: readonly LabelledPair[],
  probabilities: readonly number[],
  cut: number,
): Readonly<Record<string, unknown>> {
  const called = pairs.filter((_, at) => probabilities[at]! >= cut)
  const right = called.filter(({ isDuplicate }) => isDuplicate).length
  const duplicates = pairs.filter(({ isDuplicate }) => isDuplicate).length
  return {
    set,
    pairs: pairs.length,
    duplicates,
    cut,
    right,
    wrong: called.length - right,
    precision: Number((right / called.length).toFixed(3)),
    recall: Number((right / duplicates).toFixed(3)),
  }
}

async function main(path: string | undefined): Promise<void> {
  if (path === undefined) throw new Error('Usage: make-judge.ts FILE_OF_TITLES')
  const titles = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  const sentences = [...labelledSet('mrpc'), ...labelledSet('stsb')].map(({ a }) => a)
  const sets: Readonly<Record<string, LabelledPair[]>> = {
    'MRPC train': labelledSet('mrpc'),
    'STS-B train': labelledSet('stsb'),
    GPTCache: labelledSet('questions'),
    titles: titlePairs(titles),
    'typing mistakes': [...typoPairs(titles, TYPOS / 2), ...typoPairs(sentences, TYPOS / 2)],
  }
  const embedder = await openEmbedder()
  const embedderId = embedder.id
  await embedder.close()
  const withMeaning: Record<string, CosinePair[]> = {}
  for (const [set, pairs] of Object.entries(sets)) withMeaning[set] = await withCosines(pairs)
  const models = {
    form: fitted('form', sets, {}),
    meaning: fitted('meaning', withMeaning, { embedder: embedderId }),
  }
  writeFileSync(TARGET, sourceOf(models))
}

function fitted(
  kind: string,
  sets: Readonly<Record<string, readonly LabelledPair[]>>,
  options: { readonly embedder?: string },
): JudgeModel {
  const all = Object.values(sets).flat()
  const { model, probabilities } = fitAndScore(all, { name: NAME, ...options })
  let from = 0
  for (const [set, pairs] of Object.entries(sets)) {
    const own = probabilities.slice(from, (from += pairs.length))
    for (const precision of [0.9, 0.95]) {
      const cut = model.calibration.find((one) => one.precision >= precision)?.cut
      if (cut === undefined) continue
      const line = { judge: kind, promised: precision, ...figuresOf(set, pairs, own, cut) }
      process.stdout.write(`${JSON.stringify(line)}\n`)
    }
  }
  return model
}

function sourceOf(models: Readonly<Record<string, JudgeModel>>): string {
  return [
    '/** Made by scripts/make-judge.ts. Weights of the judges that ship with the package; see docs/judge-card.md. */',
    '',
    ...Object.entries(models).map(
      ([name, model]) => `export const ${name}: unknown = ${JSON.stringify(model)}\n`,
    ),
  ].join('\n')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv[2])
