/**
 * The fingerprint module: from canonical text, bytes and vectors to what finds their likes.
 *
 * Invariant: a fingerprint is a pure function of its input and its options. It depends on no process, machine,
 * locale, Node version or order of arrival. `hashVersion` names everything else it depends on.
 *
 * Not here: canonical text (the module before), rows and what is decided (the modules after). The tables that
 * find likes hold memory only: the store fills them from its rows.
 */

export { digestOf, digestOfLarge, DIGEST_BYTES, hasDigest } from './digest.ts'
export { hashVersion } from './hash-version.ts'
export type { TextInput } from './kernels.ts'
export type { ShingleKind, ShingleProfile } from './shingle-profile.ts'

export {
  equalSlots,
  estimateSimilarity,
  profilesOf,
  shingleHashes,
  sketchOf,
  sketchWithHashes,
  lentSketch,
} from './similarity-sketch.ts'
export type { SimilaritySketch, SketchOptions } from './similarity-sketch.ts'
export {
  bitCount,
  containment,
  cosine,
  hammingDistance,
  jaccard,
  sharedCount,
} from './exact-similarity.ts'

export {
  bandKeys64,
  chooseBands,
  collisionProbability,
  computeBands,
  falsePositiveArea,
} from './bands.ts'
export type { Banding, BandsWanted } from './bands.ts'
export { explainParameters } from './explain-parameters.ts'
export type { Explained } from './explain-parameters.ts'

export { MinHash64, minHashBandKeys, minHashSimilarity, xxhash64 } from './minhash64.ts'
export type { MinHash64Options } from './minhash64.ts'
export { minHashCoefficients } from './minhash-coefficients.ts'
export type { MinHashCoefficients } from './minhash-coefficients.ts'

export { simHashDistance, simHashHex, simHashOf } from './simhash.ts'
export type { SimHash, SimHashFingerprint } from './simhash.ts'
export { SimHashIndex } from './simhash-index.ts'
export type { SimHashMatch } from './simhash-index.ts'

export { cosineFromBits, Hyperplanes } from './hyperplanes.ts'
export type { HyperplaneOptions, PlanesForm } from './hyperplanes.ts'

export { chunkEnds, chunkSizes, ContentChunker } from './content-chunks.ts'
export type { ChunkOptions, ChunkSizes } from './content-chunks.ts'
export { fixedChunks } from './fixed-chunks.ts'
export type { FixedChunkOptions } from './fixed-chunks.ts'

export { closeFingerprintPool, fingerprintMany, FingerprintPool } from './fingerprint-many.ts'
export type { FingerprintManyOptions, Texts } from './fingerprint-many.ts'

export { GroupedTables, NearTables, VectorTables } from './grouped-tables.ts'
export { NearTable } from './near-table.ts'
export {
  BandSegment,
  ENTRY_WORDS,
  filterBits,
  numbersIn,
  type PageRange,
  type SealedPlace,
  type SegmentLayout,
  type SegmentPage,
  SegmentWriter,
  wordsOf,
} from './band-segment.ts'
export { chooseVectorBands, vectorBandKeys, VectorTable } from './vector-table.ts'
export type { FullBucket } from './chained-tables.ts'
export type {
  Candidate,
  CandidateQuery,
  Candidates,
  SimilarityTable,
  TableBytes,
  TableStats,
} from './similarity-table.ts'
export { CODE_MAX, type CodeRows, DOTS_MAX, codeRows } from './code-rows.ts'
export {
  CODED_ROWS,
  type FloatTable,
  floatTable,
  NEAREST_MAX,
  type SummedCodes,
  summedCodes,
  SUMS_MAX,
} from './float-table.ts'
export { jaccardFrom } from './exact-similarity.ts'
export type { KernelsName } from './kernels.ts'
export { mix, randomWords } from './mix.ts'
export { float32Rows, float64Rows, rowInPage, uint32Rows } from './paged-rows.ts'
export {
  DEFAULT_PROFILE,
  type ShingleShape,
  chosenShape,
  shapeOf,
  shapesOf,
} from './shingle-profile.ts'
export { requireSlots, requireText } from './similarity-sketch.ts'
export { ID_BYTES, SlotIds } from './slot-ids.ts'
export { textClasses } from './text-classes.ts'
export { textMeasures } from './twin-sample.ts'
export { UNIT_BITS, allShingleHashes, decode, isIn } from './twin-text.ts'
export { ContainmentTable } from './containment-table.ts'
export { type PassageSpan, passageSpans } from './passage-spans.ts'
export { type PassageKind, passageUnits } from './passage-units.ts'
export { passageWindows, sharedRuns } from './passage-windows.ts'
export { PASSAGE_UNITS, passageHashes, type TextUnits, textUnits } from './text-units.ts'
export {
  type Fingerprints,
  fingerprintsOf,
  packFingerprints,
  unpackFingerprints,
  WINNOWING_VERSION,
} from './winnowing.ts'
