/**
 * The labelled pairs that judges and promises are measured with: paraphrases (MRPC), sentences (STS-B, duplicates
 * from 4 of 5 on) and questions (GPTCache). With them, where wanted, the cosine of each pair by the built-in model.
 *
 * Cosines are kept in a file of the temporary directory under the model's id and the texts, because embedding is by far
 * the longest part. The data lies in `../shared/data`, or where PRESTIGE_DATA says.
 */

import { hash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { jaccard, shingleHashes } from '../../src/fingerprint/index.ts'
import { openEmbedder, vectorCosine } from '../../src/semantic/index.ts'
import { type LabelledPair, readMrpc, readStsb } from '../../test/texts/labelled-pairs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DATA = process.env['PRESTIGE_DATA'] ?? join(ROOT, '../shared/data')
/** People give duplicates so much of 5. */
const STSB_DUPLICATE = 4

export type SetName = 'mrpc' | 'stsb' | 'stsb-test' | 'questions'

export const setNames: readonly SetName[] = ['mrpc', 'stsb', 'stsb-test', 'questions']

export interface CosinePair extends LabelledPair {
  readonly cosine: number
}

const files: Readonly<Record<SetName, string>> = {
  mrpc: 'mrpc/msr-para-train.tsv',
  stsb: 'stsb/sts-train.csv',
  'stsb-test': 'stsb/sts-test.csv',
  questions: 'gptcache/mock_data.json',
}

export function hasSets(): boolean {
  return setNames.every((name) => existsSync(join(DATA, files[name])))
}

export function labelledSet(name: SetName): LabelledPair[] {
  const path = join(DATA, files[name])
  if (!existsSync(path)) throw new Error(`There is no ${path}. Say where it is: PRESTIGE_DATA.`)
  const text = readFileSync(path, 'utf8')
  if (name === 'mrpc') return readMrpc(text)
  if (name === 'questions') return questionPairs(JSON.parse(text))
  return readStsb(text).map(({ a, b, score }) => ({ a, b, isDuplicate: score >= STSB_DUPLICATE }))
}

/**
 * Each rephrasing with its question; both with another question. The nearest others of these questions often are
 * rephrasings too, so the labels would be wrong; from this rank on they rarely are.
 */
const OTHER_RANK = 6

function questionPairs(
  rows: readonly { readonly origin: string; readonly similar: string }[],
): LabelledPair[] {
  const hashesOf = (text: string) => shingleHashes(text.toLowerCase(), 'chars-3')
  const origins = rows.map(({ origin }) => ({ origin, hashes: hashesOf(origin) }))
  const otherOf = (text: string, own: number) => {
    const hashes = hashesOf(text)
    const ranked = origins
      .filter((_, at) => at !== own)
      .map((other) => ({
        origin: other.origin,
        similarity: jaccard(hashes, other.hashes),
      }))
      .toSorted((first, second) => second.similarity - first.similarity)
    return ranked[OTHER_RANK]!.origin
  }
  return rows.flatMap(({ origin, similar }, at) => [
    { a: origin, b: similar, isDuplicate: true },
    { a: otherOf(similar, at), b: similar, isDuplicate: false },
    { a: origin, b: otherOf(origin, at), isDuplicate: false },
  ])
}

export async function withCosines(pairs: readonly LabelledPair[]): Promise<CosinePair[]> {
  const embedder = await openEmbedder()
  try {
    const key = hash('sha256', JSON.stringify([embedder.id, pairs]), 'hex').slice(0, 24)
    const path = join(tmpdir(), `prestige-cosines-${key}.json`)
    if (!existsSync(path)) writeFileSync(path, JSON.stringify(await cosinesOf(embedder, pairs)))
    const cosines: number[] = JSON.parse(readFileSync(path, 'utf8'))
    return pairs.map((pair, at) => ({ ...pair, cosine: cosines[at]! }))
  } finally {
    await embedder.close()
  }
}

async function cosinesOf(
  embedder: Awaited<ReturnType<typeof openEmbedder>>,
  pairs: readonly LabelledPair[],
): Promise<number[]> {
  const texts = [...new Set(pairs.flatMap(({ a, b }) => [a, b]))]
  const vectors = await embedder.embed(texts)
  const vectorOf = new Map(texts.map((text, at) => [text, vectors[at]!]))
  return pairs.map(({ a, b }) =>
    Number(vectorCosine(vectorOf.get(a)!, vectorOf.get(b)!).toFixed(6)),
  )
}
