/**
 * The subpath `backend`, for authors of storage engines: the whole contract, drivers that do all of it but the bytes,
 * the conformance suite that proves an engine, and two engines to test with. The suite needs no test framework.
 *
 * An engine that runs one transaction at a time implements `SerialEngine` and is wrapped in a `SerialBackend`. One that
 * cannot hold a transaction open implements `ScannableEngine` and is wrapped in an `OptimisticBackend`.
 */

export { cell, first, glance, read, rows, rowsOf, tallies } from '../backends/index.ts'
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
  ReadAsk,
  ReadBody,
  ReadScope,
  Row,
  RowReader,
  RowsAsk,
  Scope,
  Space,
  Transaction,
} from '../backends/index.ts'

// Drivers.
export { SerialBackend } from '../backends/kit/serial-backend.ts'
export type { SerialEngine } from '../backends/kit/serial-backend.ts'
export type { SerialReader } from '../backends/kit/serial.ts'
export { OptimisticBackend } from '../backends/kit/optimistic-backend.ts'
export type {
  OptimisticTuning,
  ScannableEngine,
  SendRequest,
} from '../backends/kit/optimistic-backend.ts'
export type {
  Check,
  Commit,
  CommitOutcome,
  Fresh,
  OptimisticEngine,
  Tappable,
  Versioned,
} from '../backends/kit/optimistic.ts'
export type { Addition, Draft, Write } from '../backends/kit/draft.ts'

// What engines are made with.
export { cellName } from '../backends/kit/draft.ts'
export { checkedClock, ID_BYTES, IdSource, idTime, systemRandom } from '../backends/kit/ids.ts'
export { namespacePrefix, within } from '../backends/kit/namespace.ts'
export { OrderedMap } from '../backends/kit/ordered-map.ts'
export { pagesOf } from '../backends/kit/pages.ts'
export type { Page, PageRange, RawRow } from '../backends/kit/pages.ts'
export { PrestigeError } from '../platform/errors.ts'
export type { ErrorCode, ErrorKind } from '../platform/errors.ts'
export type { Bytes } from '../platform/bytes.ts'

// Proof.
export {
  describeBackend,
  runScenario,
  scenarioNames,
  suiteSpaces,
} from '../backends/conformance/index.ts'
export type { ScenarioName, Subject, TestRunner } from '../backends/conformance/index.ts'

// Engines to test with.
export { MemoryBackend, MemoryEngine } from '../backends/memory/index.ts'
export {
  NO_FAULTS,
  seededRandom,
  SimulatedBackend,
  SimulatedWorld,
} from '../backends/simulated/index.ts'
export type { SimulatedFaults, SimulatedRow } from '../backends/simulated/index.ts'
export { dedupeSpaces } from '../dedupe/index.ts'
export { ledgerSpaces } from '../ledger/index.ts'
export { fingerprintSpaces } from '../fingerprint-store/index.ts'
export { resolverSpaces } from '../resolve/index.ts'
export { storeSpaces } from '../store/index.ts'
