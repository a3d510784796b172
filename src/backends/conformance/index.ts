/**
 * The conformance suite: the half of the backend contract that only running can check. Every backend,
 * wrapper and user-written backend proves itself with one call.
 *
 *     import { describe, it } from 'node:test' // or from vitest
 *     describeBackend({ describe, it }, { name: 'memory', open: async (options) => new MemoryBackend(options) })
 *
 * Scenarios see nothing but the Backend interface. Each was watched going red against a backend that was
 * damaged on purpose (damage.test.ts).
 */

import assert from 'node:assert/strict'

import { cellScenarios } from './cells.ts'
import { type Means, suiteSpaces } from './kit.ts'
import { lifeScenarios } from './life.ts'
import { raceScenarios } from './races.ts'
import { scanScenarios } from './scans.ts'
import { snapshotScenarios } from './snapshots.ts'
import { tallyScenarios } from './tallies.ts'
import { transactionScenarios } from './transactions.ts'
import type { Backend, BackendOptions } from '../contract.ts'

const scenarios = {
  ...cellScenarios,
  ...transactionScenarios,
  ...raceScenarios,
  ...tallyScenarios,
  ...scanScenarios,
  ...snapshotScenarios,
  ...lifeScenarios,
}

export type ScenarioName = keyof typeof scenarios

export const scenarioNames: readonly ScenarioName[] = Object.freeze(
  Object.keys(scenarios) as ScenarioName[], // safe: the keys of a constant object literal
)

/** A backend on trial. */
export interface Subject {
  readonly name: string
  /** A new, empty backend on every call. */
  readonly open: (options: BackendOptions) => Promise<Backend>
  /**
   * A second backend on the same data: another worker, another namespace, or the same after a close.
   * Without it, the scenarios that need it fail and have to be named in `knownGaps`.
   */
  readonly reopen?: (backend: Backend, options: BackendOptions) => Promise<Backend>
  /** More rows than a page of this engine holds. Default: 1,100. */
  readonly manyRows?: number
  /** Scenarios this backend is known to fail. One that starts passing turns red until it is removed. */
  readonly knownGaps?: readonly ScenarioName[]
}

/** The two functions the suite needs of a test framework. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown
  it(name: string, body: () => Promise<void>): unknown
}

const MANY_ROWS = 1100

export function describeBackend(runner: TestRunner, subject: Subject): void {
  const gaps = new Set<ScenarioName>(subject.knownGaps)
  runner.describe(subject.name, () => {
    for (const name of scenarioNames) {
      if (gaps.has(name)) runner.it(`${name} (known gap)`, () => mustFail(subject, name))
      else runner.it(name, () => runScenario(subject, name))
    }
  })
}

/** Runs one scenario against a new backend; rejects when it fails. */
export async function runScenario(subject: Subject, name: ScenarioName): Promise<void> {
  const opened: Backend[] = []
  const means: Means = {
    manyRows: subject.manyRows ?? MANY_ROWS,
    async open(options) {
      const backend = await subject.open({ spaces: suiteSpaces, ...options })
      opened.push(backend)
      return backend
    },
    async reopen(first, options) {
      assert.ok(subject.reopen, `${subject.name} cannot open a second backend on the same data`)
      const backend = await subject.reopen(first, { spaces: suiteSpaces, ...options })
      opened.push(backend)
      return backend
    },
  }
  try {
    await scenarios[name](await means.open(), means)
  } finally {
    await Promise.all(opened.map((backend) => backend.close()))
  }
}

async function mustFail(subject: Subject, name: ScenarioName): Promise<void> {
  try {
    await runScenario(subject, name)
  } catch {
    return
  }
  assert.fail(`"${name}" passes now: remove it from the known gaps of ${subject.name}`)
}
export { suiteSpaces } from './kit.ts'
