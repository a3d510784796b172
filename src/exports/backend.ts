/**
 * The public door `prestige-dedup/backend`: what others need to prove a backend of their own, and to test what
 * they build on one. Needs no test framework; bring your own `describe` and `it`.
 */

export {
  describeBackend,
  runScenario,
  scenarioNames,
  suiteSpaces,
} from '../backends/conformance/index.ts'
export type { ScenarioName, Subject, TestRunner } from '../backends/conformance/index.ts'
export { cell, first, glance, read, rows, tallies } from '../backends/index.ts'
export type {
  Ask,
  Backend,
  BackendLimits,
  BackendOptions,
  Body,
  Cell,
  Codec,
  FirstAsk,
  GlanceAsk,
  Range,
  ReadBody,
  ReadScope,
  Row,
  Scope,
  Space,
  Transaction,
} from '../backends/index.ts'
export { MemoryBackend, MemoryEngine } from '../backends/memory/index.ts'
export {
  NO_FAULTS,
  seededRandom,
  SimulatedBackend,
  SimulatedWorld,
} from '../backends/simulated/index.ts'
export type { SimulatedFaults, SimulatedRow } from '../backends/simulated/index.ts'
