/** The unique value store: keys to values, each distinct value kept once. */

export type { Collected } from './collect.ts'
export type { ExplainOptions, Explanation } from './explain.ts'
export type { ListOptions } from './list.ts'
export { type Restored, archiveStore, openStore, reembedStore, restoreStore } from './open.ts'
export type { NearOptions, StoreOptions } from './options.ts'
export {
  KEY_BYTES_MAX,
  type StoreKey,
  type PutItem,
  type PutOptions,
  VALUE_BYTES_MAX,
  type StoreValue,
} from './prepare.ts'
export type { KeyOutcome, Method, ContentOrigin, Receipt } from './receipt.ts'
export { type ContentOutcome, storeSpaces } from './rows.ts'
export type { SemanticVeto } from './semantic/arbiter.ts'
export type { Judge, Rerank, SemanticOptions } from './semantic/options.ts'
export type { ReembedOptions, Reembedded } from './semantic/reembed.ts'
export type { Refused } from './semantic/store-semantic.ts'
export { type ShownSettings as StoreSettings } from './settings.ts'
export { storedStore } from './stored.ts'
export type { Similar, SimilarOptions } from './similar.ts'
export type { StoreStats } from './stats.ts'
export type { Store } from './store.ts'
export type { Counts } from './tallies.ts'
export { type Lost, damagedPages, salvageStore, verifyStore } from './verify-location.ts'
export type { Problem, ProblemKind, VerifyOptions, VerifyReport } from './verify/verify.ts'
