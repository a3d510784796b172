/** Finds what a text or a vector is similar to: signatures, candidates, exact measuring. */

export { type EvidenceKind, Measured, evidenceOf, evidenceOfHashes } from './evidence.ts'
export { type IndexOptions, NearIndex } from './match-index.ts'
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
export { MeasuredCache } from './measured-cache.ts'
export { type PortableIndex, portableIndex, portableRows } from './portable.ts'
export {
  type Bucket,
  type Head,
  type JournalRow,
  type NearSpaces,
  type Representative,
  nearSpaces,
  rawCodec,
  sequenceKey,
  sequenceOf,
  spacesOf,
} from './rows.ts'
export { TextLikeness, VectorLikeness } from './scheme.ts'
export { type Candidate, type Hit, type Look, type Searched, search } from './search.ts'
export { type TextNearSettings, groupKey, textNearSettings } from './settings.ts'
export { HEAD_KEY } from './view.ts'
