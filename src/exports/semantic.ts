/**
 * The subpath `semantic`: texts to vectors, vectors to candidates, and what must not be merged however near it lies.
 *
 * Invariant: a vector is a pure function of its text and of its embedder's id. Nothing is decided here by an
 * approximation: candidates may come from one, similarity is measured in floats.
 */

export {
  cachedEmbedder,
  documentSimilarity,
  embedDocuments,
  MODEL_DEFAULT,
  modelReports,
  openEmbedder,
  openReranker,
  openVectorIndex,
  tuneSemantic,
  vectorCosine,
} from '../semantic/index.ts'
export { guardNames, veto } from '../compare/index.ts'
export type {
  CachedEmbedder,
  DocumentVectors,
  Embedder,
  EmbedderOptions,
  EmbedOptions,
  IndexOptions,
  ModelReport,
  Reranker,
  RerankerOptions,
  RuntimeName,
  SearchOptions,
  SemanticPair,
  SemanticTuneOptions,
  SemanticTuning,
  SentenceEmbedder,
  VectorIndex,
  VectorMatch,
  VetoCount,
} from '../semantic/index.ts'
export type { GuardName, GuardOptions, Veto } from '../compare/index.ts'
export { thresholdSvg } from '../compare/index.ts'
