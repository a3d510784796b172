/** `prestige dedupe` is killed and goes on. The full forms are `npm run crash -- --kind corpus` and `--kind second-run`. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { type CorpusFormat, corpusRounds } from './crash/corpus-rounds.ts'
import { secondRunRounds } from './crash/second-run-rounds.ts'

describe('a corpus job that is killed with SIGKILL and goes on', () => {
  // The fourth round is killed again and again.
  const modes: readonly (readonly [CorpusFormat, boolean, number])[] = [
    ['jsonl', false, 4],
    ['gzip', true, 2],
    ['files', false, 2],
  ]
  it.each(modes)(
    'ends as an undisturbed one does, to the byte (%s, order-independent: %s)',
    async (format, orderIndependent, rounds) => {
      const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-corpus-'))
      const documents = format === 'files' ? 100 : 600
      const options = { rounds, seed: 20_261_117, format, orderIndependent, documents }
      const { kills } = await corpusRounds(directory, options)
      expect(kills).toBeGreaterThan(0)
      await rm(directory, { recursive: true })
    },
    120_000,
  )
})

it('a run that changes outputs of an earlier one, and its undo, end as undisturbed ones do when they are killed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-second-'))
  const options = { rounds: 2, seed: 20_261_117, format: 'jsonl', documents: 120 } as const
  const { runKills, undoKills } = await secondRunRounds(directory, options)
  expect(runKills + undoKills).toBeGreaterThan(2)
  await rm(directory, { recursive: true })
}, 120_000)
