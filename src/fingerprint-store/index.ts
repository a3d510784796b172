/** Stores of fingerprints: which content was seen before, and in which document. */

export type {
  AddedFingerprints,
  ChunkCounts,
  FingerprintAnswer,
  FingerprintInfo,
  Fingerprints,
  FingerprintVerdict,
} from './fingerprints.ts'
export { openFingerprints } from './open.ts'
export type { FingerprintMethod, FingerprintsOptions } from './options.ts'
export type { FingerprintInput, FingerprintQuery, MinHashValue, SimHashValue } from './prepare.ts'
export type { PrunedFingerprints } from './remove.ts'
export { fingerprintSpaces } from './rows.ts'
export type { FingerprintMatch } from './search.ts'
export { storedFingerprints } from './stored.ts'
