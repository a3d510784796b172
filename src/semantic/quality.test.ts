/**
 * How good it is, on labelled data, in short: every so many pairs of each set. All of them: bench/semantic-quality.ts.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { readMrpc, readStsb, spearman } from '../../test/texts/labelled-pairs.ts'
import { MemoryBackend } from '../backends/memory/backend.ts'
import { cachedEmbedder } from './embedding/embedding-cache.ts'
import { openEmbedder, type SentenceEmbedder } from './embedding/open-embedder.ts'
import { tuneSemantic } from './tune.ts'
import { vectorCosine } from './document.ts'
import { veto } from '../compare/index.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DATA = process.env['PRESTIGE_DATA'] ?? join(ROOT, '../shared/data')
const needed = ['stsb/sts-test.csv', 'mrpc/msr-para-train.tsv']
const missing = needed.filter((name) => !existsSync(join(DATA, name)))
if (missing.length > 0) {
  process.emitWarning(`NOT TESTED: quality of embeddings; ${missing.join(', ')} not at ${DATA}.`)
}
const runsData = missing.length === 0 || process.env['CI']
const textOf = (name: string) => readFileSync(join(DATA, name), 'utf8')

let embedder: SentenceEmbedder
beforeAll(async () => {
  embedder = await openEmbedder()
})
afterAll(() => embedder.close())

describe('quality', { timeout: 300_000 }, () => {
  it.runIf(runsData)('of likeness is what the model is known for', async () => {
    const pairs = readStsb(textOf('stsb/sts-test.csv')).filter((_, at) => at % 8 === 0)
    const vectors = await embedder.embed(pairs.flatMap(({ a, b }) => [a, b]))
    const found = pairs.map((_, at) => vectorCosine(vectors[at * 2]!, vectors[at * 2 + 1]!))
    const rho = spearman(
      found,
      pairs.map(({ score }) => score),
    )
    expect(rho).toBeGreaterThan(0.8)
  })

  it.runIf(runsData)(
    'of guards: they save more than they cost, and more than a higher bar',
    async () => {
      const pairs = readMrpc(textOf('mrpc/msr-para-train.tsv')).filter((_, at) => at % 10 === 0)
      const cached = cachedEmbedder(embedder, new MemoryBackend())
      const bare = await tuneSemantic(pairs, cached, { guards: false })
      const guarded = await tuneSemantic(pairs, cached)
      const at = (tuning: typeof bare, threshold: number) =>
        tuning.thresholds.find((one) => one.threshold === threshold)!
      const before = at(bare, 0.85)
      const after = at(guarded, 0.85)
      expect(after.falsePositives).toBeLessThanOrEqual(before.falsePositives * 0.75)
      expect(after.recall.value).toBeGreaterThanOrEqual(before.recall.value! - 0.1)
      const rivals = bare.thresholds.filter(({ recall }) => recall.value! >= after.recall.value!)
      for (const rival of rivals) {
        expect(after.precision.value, String(rival.threshold)).toBeGreaterThan(
          rival.precision.value!,
        )
      }
    },
  )

  it.runIf(runsData)(
    'of guards does not hang on the model: most of what they veto is different',
    () => {
      const pairs = readMrpc(textOf('mrpc/msr-para-train.tsv'))
      const vetoed = pairs.filter(({ a, b }) => veto(a, b, { names: false }).length > 0)
      const different = vetoed.filter(({ isDuplicate }) => !isDuplicate).length
      const share = pairs.filter(({ isDuplicate }) => !isDuplicate).length / pairs.length
      expect(different / vetoed.length).toBeGreaterThan(share + 0.1)
    },
  )
})
