/** `prestige dedupe` is killed and goes on. The full forms are `npm run crash -- --kind corpus` and `--kind second-run`. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { amount } from './amount.ts'
import { type CorpusFormat, corpusRounds } from './crash/corpus-rounds.ts'
import { secondRunRounds } from './crash/second-run-rounds.ts'

describe('a corpus job that is killed with SIGKILL and goes on', () => {
  // Every second round is killed again and again; in CI those of others are killed once, one of them as it publishes.
  const modes: readonly (readonly [CorpusFormat, boolean, number])[] = [
    ['jsonl', false, amount(2, 4)],
    ['gzip', true, amount(1, 4)],
    ['files', false, amount(2, 4)],
  ]
  it.each(modes)(
    'ends as an undisturbed one does, to the byte (%s, order-independent: %s)',
    async (format, orderIndependent, rounds) => {
      const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-corpus-'))
      const documents = format === 'files' ? amount(50, 100) : amount(200, 600)
      const chainEvery = format === 'jsonl' ? 2 : 4
      const options = { rounds, chainEvery, seed: 20_261_117, format, orderIndependent, documents }
      const { kills } = await corpusRounds(directory, options)
      expect(kills).toBeGreaterThan(0)
      await rm(directory, { recursive: true })
    },
    120_000,
  )
})

it('a run that changes outputs of an earlier one, and its undo, end as undisturbed ones do when they are killed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-second-'))
  const common = { seed: 20_261_117, format: 'jsonl' } as const
  const options = { ...common, rounds: amount(2, 6), documents: amount(60, 120) }
  const { runKills, undoKills } = await secondRunRounds(directory, options)
  expect(runKills + undoKills).toBeGreaterThan(amount(0, 2))
  await rm(directory, { recursive: true })
}, 120_000)
