/** Finds what a text or a vector is similar to: signatures, candidates, exact measuring. */

export {
  type Contained,
  type Containment,
  CONTAINMENT_MIN,
  ContainmentIndex,
  containmentOf,
  requireJournal,
} from './containment.ts'
export {
  type Canonicalise,
  type EvidenceKind,
  evidenceOfHashes,
  Measured,
  originalOf,
  sketchEvidence,
  textEvidence,
} from './evidence.ts'
export { judgementOf, type Verdict } from './judgement.ts'
export { type IndexOptions, MatchIndex } from './match-index.ts'
export type { MemoryBound } from './segments/spill.ts'
export {
  type Candidate,
  type Hit,
  type Kept,
  Matcher,
  type Measurement,
  type Searched,
  type Wanted,
} from './matcher.ts'
export {
  type Link,
  type LinkCounts,
  type LinkFields,
  LinkGraph,
  type LinkSpaces,
  type LinkTarget,
  linkSpaces,
  linkSpacesOf,
  type Orphan,
} from './link-graph.ts'
export { type PortableIndex, portableIndex, portableRows } from './portable.ts'
export {
  type Head,
  type JournalRow,
  type NearSpaces,
  nearSpaces,
  rawCodec,
  type Representative,
  sequenceKey,
  sequenceOf,
  spacesOf,
} from './rows.ts'
export { BitLayout } from './scheme/bits.ts'
export {
  CONTAINMENT_LIMITS,
  containmentPartition,
  type ContainmentProbe,
  ContainmentScheme,
  type Shared,
} from './scheme/containment.ts'
export type { Probe, SignatureScheme } from './scheme/scheme.ts'
export { type SimHashProbe, SimHashScheme } from './scheme/simhash.ts'
export { type SketchProbe, SketchScheme } from './scheme/sketch.ts'
export { probeText, type TextProbe, TextScheme } from './scheme/text.ts'
export {
  levelCosine,
  readVector,
  vectorBytes,
  vectorEvidence,
  type VectorProbe,
  VectorScheme,
} from './scheme/vector.ts'
export {
  defaultThreshold,
  judgeName,
  type JudgeSettings,
  partitionKey,
  recordedGuards,
  type TextNearSettings,
  textNearSettings,
} from './settings.ts'
export { fingerprintVersion } from './version.ts'
export { HEAD_KEY, nextPlace } from './journal.ts'
