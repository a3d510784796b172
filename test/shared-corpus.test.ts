/** The corpus job of several workers on engines that machines share; `npm run corpus-crash -- --backend` is longer. */

import { describe, expect, it } from 'vitest'

import { amount } from './amount.ts'
import { runCorpusRound } from './crash/worker-rounds.ts'
import { sharedEngine } from './race/engines.ts'
import { dynamoIsHere } from './servers/dynamodb.ts'
import { redisIsHere } from './servers/redis.ts'

const HERE = [
  ...(redisIsHere() ? (['redis'] as const) : []),
  ...(dynamoIsHere() ? (['dynamodb'] as const) : []),
]

const documents = amount(24, 200)

describe.each(HERE)('workers that share a corpus job on %s, and are killed', (name) => {
  it.each([
    ['lose and double nothing, and keep one of each group', false],
    ['publish, where order does not matter, what one worker on LMDB does', true],
  ])(
    '%s',
    async (_, orderIndependent) => {
      const engine = await sharedEngine(name)
      try {
        const report = await runCorpusRound({
          seed: 3,
          workers: amount(2, 3),
          documents,
          killsMax: amount(1, 2),
          betweenMs: 2500,
          orderIndependent,
          state: engine.location,
        })
        expect(report.documents).toBeGreaterThanOrEqual(documents)
      } finally {
        await engine.stop()
      }
    },
    240_000,
  )
})
