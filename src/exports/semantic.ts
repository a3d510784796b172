/**
 * The semantic module: texts to vectors, vectors to candidates, and what must not be merged however near it lies.
 *
 * Invariant: a vector is a pure function of its text and of its embedder's id. Nothing is decided here by an
 * approximation: candidates may come from one, similarity is measured in floats.
 *
 * Not here: rows of documents, transactions that decide, stores. They embed before a transaction, search a view for
 * candidates, and decide inside by `documentSimilarity` and `vetoes`.
 */

export {
  CachedEmbedder,
  cachedEmbedder,
  decodeVector,
  documentOf,
  documentSimilarity,
  embedDocuments,
  encodeVector,
  guardNames,
  loadIndex,
  MODEL_DEFAULT,
  modelReports,
  openEmbedder,
  openVectorIndex,
  openVectorView,
  readGuards,
  readIndexOptions,
  readingOf,
  requireEmbedder,
  requireSimilarityMin,
  requireVector,
  saveIndex,
  ScanIndex,
  semanticSpaces,
  tuneSemantic,
  vectorCosine,
  VectorView,
  veto,
  vetoesOf,
} from '../semantic/index.ts'
export type {
  DocumentVectors,
  Embedder,
  EmbedderInput,
  EmbedOptions,
  GuardInput,
  GuardName,
  GuardOptions,
  IndexInput,
  IndexOptions,
  LoadedIndex,
  ModelReport,
  Reading,
  RuntimeName,
  SavableIndex,
  SearchOptions,
  SemanticPair,
  SemanticTuneOptions,
  SemanticTuning,
  SentenceEmbedder,
  Standing,
  StoredVector,
  Unusable,
  VectorChange,
  VectorIndex,
  VectorMatch,
  VectorSource,
  Veto,
  VetoCount,
  ViewOptions,
} from '../semantic/index.ts'
export { thresholdSvg } from '../compare/index.ts'
