/** What is kept at a location, of whatever kind: listing, archives, verification. */

export { type ArchiveLocationOptions, archiveLocation } from './archive.ts'
export { type ListLocationOptions, type Stored, listLocation } from './list.ts'
export { type RestoredLocation, type RestoreLocationOptions, restoreLocation } from './restore.ts'
export { type KindName, KINDS, type StoredSettings } from './stored-kind.ts'
export {
  type LocationProblem,
  type LocationProblemKind,
  type LocationReport,
  type VerifyLocationOptions,
  verifyLocation,
} from './verify.ts'
