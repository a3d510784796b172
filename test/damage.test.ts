/** A damaged file: nothing wrong is served, nothing ends by a signal, and what is readable can be saved. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { amount } from './amount.ts'
import { damageRounds, makeStore } from './damage/damage-rounds.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-damage-'))
  await makeStore(join(directory, 'original'))
})
afterAll(() => rm(directory, { recursive: true }))

describe('a store whose file is damaged', () => {
  it.each([
    ['flip', amount(3, 40)],
    ['page', amount(2, 20)],
    ['cut', amount(2, 10)],
  ] as const)(
    'serves no wrong byte, is found damaged, and is salvaged (%s)',
    async (damage, rounds) => {
      const seed = 7
      const report = await damageRounds(join(directory, 'original'), directory, {
        damage,
        rounds,
        seed,
      })
      expect(report.faults).toEqual([])
      expect(report.noticed).toBeGreaterThan(0)
    },
    amount(60_000, 600_000),
  )
})
