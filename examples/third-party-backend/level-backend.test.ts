/** The engine passes the whole conformance suite; damaged on purpose, it does not. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import {
  type Backend,
  describeBackend,
  runScenario,
  type ScenarioName,
  type Subject,
  type Tappable,
} from 'prestige-dedup/backend'
import { afterAll, describe, expect, it } from 'vitest'

import { openLevel } from './level-backend.ts'

const root = await mkdtemp(join(tmpdir(), 'prestige-level-'))
afterAll(() => rm(root, { recursive: true, force: true }))

function level(sync: boolean, tap?: Tappable['tap']): Subject {
  const directories = new WeakMap<Backend, string>()
  const open: NonNullable<Subject['reopen']> = async (first, options) => {
    const directory = directories.get(first) ?? (await mkdtemp(join(root, 'data-')))
    const backend = await openLevel(directory, { ...options, sync, tap })
    directories.set(backend, directory)
    return backend
  }
  return {
    name: `level, ${sync ? 'synced' : 'not synced'}`,
    open: (options) => open({} as Backend, options),
    reopen: open,
  }
}

describeBackend({ describe, it }, level(true))
describeBackend({ describe, it }, level(false))

interface Damage {
  readonly tap: NonNullable<Tappable['tap']>
  readonly caughtBy: readonly ScenarioName[]
}

const damages: Record<string, Damage> = {
  'a commit checks nothing': {
    tap: (engine) => ({
      fetchIsAtomic: true,
      fetch: (cells) => engine.fetch(cells),
      commit: (commit) => engine.commit({ ...commit, checks: [] }),
    }),
    caughtBy: [
      'runs transactions on one cell as if one came after the other',
      'makes write skew impossible',
      'notices a row that was removed and written again',
    ],
  },
  'a commit does not check that a miss is still one': {
    tap: (engine) => ({
      fetchIsAtomic: true,
      fetch: (cells) => engine.fetch(cells),
      commit: (commit) =>
        engine.commit({ ...commit, checks: commit.checks.filter(({ version }) => version) }),
    }),
    caughtBy: ['runs transactions on one cell as if one came after the other'],
  },
  'cells of one fetch are from different moments': {
    tap: (engine) => ({
      fetchIsAtomic: true,
      fetch: async (cells) => {
        const found = []
        for (const cell of cells) found.push(...(await engine.fetch([cell])))
        return found
      },
      commit: (commit) => engine.commit(commit),
    }),
    caughtBy: ['reads from one moment'],
  },
  'a commit is acknowledged before it is made': {
    tap: (engine) => ({
      fetchIsAtomic: true,
      fetch: (cells) => engine.fetch(cells),
      commit: (commit) => {
        if (commit.checks.length > 0) return engine.commit(commit)
        setImmediate(() => void engine.commit(commit))
        return Promise.resolve({ applied: true })
      },
    }),
    caughtBy: ['shows what a transaction wrote to the very next read, scan and transaction'],
  },
}

describe('level, damaged so that', () => {
  for (const [way, { tap, caughtBy }] of Object.entries(damages)) {
    it.each(caughtBy)(`${way}: fails "%s"`, async (name) => {
      await expect(runScenario(level(false, tap), name)).rejects.toThrow()
    })
  }
})
