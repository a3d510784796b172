/**
 * The canonical module: decides which values count as the same.
 *
 * Invariant: a profile is a pure function of the bytes. The same bytes give the same canonical
 * bytes in every process, on every machine, in every locale and on every supported Node.
 *
 * Not here: what happens to a value that a profile cannot read (`onUnreadable` belongs to the
 * caller), hashing, and remembering which profile a store was written with.
 */

export { canonicalNames, canonicalProfile } from './canonical-profile.ts'
export type {
  CanonicalInput,
  CanonicalName,
  CanonicalProfile,
  RecordedProfile,
} from './canonical-profile.ts'
