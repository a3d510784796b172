/** `prestige dedupe` is killed and goes on. The full form is `npm run crash -- --kind corpus`. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { type CorpusFormat, corpusRounds } from './crash/corpus-rounds.ts'
import { secondRunRounds } from './crash/second-run-rounds.ts'

describe('a corpus job that is killed with SIGKILL and goes on', () => {
  const modes: readonly (readonly [CorpusFormat, boolean])[] = [
    ['jsonl', false],
    ['gzip', true],
    ['files', false],
  ]
  it.each(modes)(
    'ends as an undisturbed one does, to the byte (%s, order-independent: %s)',
    async (format, orderIndependent) => {
      const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-corpus-'))
      const documents = format === 'files' ? 200 : 1200
      const options = { rounds: 4, seed: 20_261_117, format, orderIndependent, documents }
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
