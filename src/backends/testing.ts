/**
 * The public door `prestige/testing`: what others need to prove a backend of their own, and to test what
 * they build on one. Needs no test framework; bring your own `describe` and `it`.
 */

export {
  describeBackend,
  runScenario,
  type ScenarioName,
  scenarioNames,
  type Subject,
  type TestRunner,
} from './conformance/index.ts'
export { suiteSpaces } from './conformance/kit.ts'
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
} from './contract.ts'
export { cell, first, glance, read, rows, tallies } from './contract.ts'
export { MemoryBackend, MemoryEngine } from './memory/backend.ts'
export {
  NO_FAULTS,
  seededRandom,
  SimulatedBackend,
  type SimulatedFaults,
  type SimulatedRow,
  SimulatedWorld,
} from './simulated/backend.ts'
