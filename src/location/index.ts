/** What is kept at a location, of whatever kind: listing, archives, verification. */

export { archiveLocation } from './archive.ts'
export { type Stored, listLocation } from './list.ts'
export { type RestoredLocation, restoreLocation } from './restore.ts'
export type { KindName } from './stored-kind.ts'
export { type LocationReport, verifyLocation } from './verify.ts'
