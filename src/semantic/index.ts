/**
 * The semantic module: texts to vectors, vectors to candidates, and what must not be merged however near it lies.
 *
 * Invariant: a vector is a pure function of its text and of its embedder's id. Nothing is decided here by an
 * approximation: candidates may come from one, similarity is measured in floats.
 *
 * Not here: rows of documents, transactions that decide, stores. They embed before a transaction, search a view for
 * candidates, and decide inside by `documentSimilarity` and `vetoes`.
 */

export { openEmbedder, type SentenceEmbedder } from './embedding/open-embedder.ts'
export type { Embedder, EmbedOptions } from './embedding/embedder.ts'
export { openReranker, type Reranker } from './embedding/reranker.ts'
export type { EmbedderOptions, RerankerOptions } from './embedding/options.ts'
export { MODEL_DEFAULT } from './embedding/models.ts'
export { modelReports } from './embedding/model-reports.ts'
export type { ModelReport } from './embedding/model-reports.ts'
export type { RuntimeName } from './embedding/runtime.ts'
export { documentOf, documentSimilarity, embedDocuments, vectorCosine } from './document.ts'
export type { DocumentVectors } from './document.ts'

export { CachedEmbedder, cachedEmbedder } from './embedding/embedding-cache.ts'
export { decodeVector, encodeVector } from './embedding/embedding-rows.ts'

export { openVectorIndex, openVectorView, VectorView } from './vectors/vector-view.ts'
export type { StoredVector, VectorChange, VectorSource } from './vectors/vector-view.ts'
export { loadIndex, saveIndex } from './vectors/index-file.ts'
export type { SavableIndex } from './vectors/index-file.ts'
export { readIndexOptions } from './vectors/options.ts'
export type { IndexOptions } from './vectors/options.ts'
export type { SearchOptions, VectorIndex, VectorMatch } from './vectors/vector-index.ts'

export { semanticSimilarities, tuneSemantic } from './tune.ts'
export type { SemanticPair, SemanticTuneOptions, SemanticTuning, VetoCount } from './tune.ts'
export { thresholdSvg } from '../compare/index.ts'
export { CALLBACK_TIMEOUT_MS, Deadline } from './deadline.ts'
export { scopeOf } from './embedding/embedding-rows.ts'
export { StoreEmbedder } from './embedding/lazy-embedder.ts'
