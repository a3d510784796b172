import { afterAll, describe, expect, it } from 'vitest'

import {
  FAULTS,
  lmdb,
  memory,
  removeTemporaryDirectories,
  simulated,
} from '../../../test/subjects.ts'
import { words } from './kit.ts'
import { describeBackend, runScenario, scenarioNames } from './index.ts'
import { cell, read, type ReadScope, type Transaction } from '../contract.ts'
import { MemoryBackend } from '../memory/backend.ts'

afterAll(removeTemporaryDirectories)

describeBackend({ describe, it }, memory())
describeBackend({ describe, it }, lmdb('fsync'))
describeBackend({ describe, it }, lmdb('os'))
for (const seed of [1, 2, 3]) describeBackend({ describe, it }, simulated(seed))
for (const seed of [4, 5, 6]) describeBackend({ describe, it }, simulated(seed, FAULTS))

describe('the suite itself', () => {
  /** Collects instead of running. */
  function collected(subject: Parameters<typeof describeBackend>[1]) {
    const tests = new Map<string, () => Promise<void>>()
    const runner = {
      describe: (_name: string, body: () => void) => body(),
      it: (name: string, body: () => Promise<void>) => void tests.set(name, body),
    }
    describeBackend(runner, subject)
    return tests
  }

  it('gives every scenario to the test framework', () => {
    expect([...collected(memory()).keys()]).toEqual(scenarioNames)
  })

  it('turns red when a known gap starts to pass', async () => {
    const gap = 'keeps spaces apart'
    const tests = collected({ ...memory(), knownGaps: [gap] })
    expect(tests.has(gap)).toBe(false)
    await expect(tests.get(`${gap} (known gap)`)?.()).rejects.toThrow('passes now')
  })

  it('accepts a known gap that still fails', async () => {
    const { name, open } = memory()
    const gap = 'keeps namespaces apart'
    const subject = { name, open, knownGaps: [gap] } as const
    await expect(runScenario(subject, gap)).rejects.toThrow('cannot open a second backend')
    await collected(subject).get(`${gap} (known gap)`)?.()
  })

  it('closes every backend a scenario has opened, also when it fails', async () => {
    const opened: MemoryBackend[] = []
    const open = async () => {
      const backend = new MemoryBackend()
      opened.push(backend)
      return backend
    }
    const takesTheTime = 'takes the time from its clock, once a transaction'
    await expect(runScenario({ name: 'no clock', open }, takesTheTime)).rejects.toThrow()
    expect(opened).toHaveLength(2)
    for (const backend of opened) {
      await expect(backend.run(function* () {})).rejects.toMatchObject({ code: 'BACKEND_CLOSED' })
    }
  })

  it('cannot be compiled with a body that writes where it may only read', () => {
    function* writes(scope: ReadScope): Transaction<void> {
      yield* read(cell(words, Buffer.of(1)))
      // @ts-expect-error -- a ReadScope has nothing to write with
      scope.write(cell(words, Buffer.of(1)), 'x')
    }
    expect(writes).toBeTypeOf('function')
  })
})
