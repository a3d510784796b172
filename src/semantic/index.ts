/**
 * The room of meaning: texts to vectors, vectors to candidates, and what must not be merged however near it lies.
 *
 * Invariant: a vector is a pure function of its text and of its embedder's id. Nothing is decided here by an
 * approximation: candidates may come from one, similarity is measured in floats.
 *
 * Not here: rows of documents, transactions that decide, stores. They embed before a transaction, search a view for
 * candidates, and decide inside by `documentSimilarity` and `vetoes`.
 */

export { openEmbedder, type SentenceEmbedder } from './embedding/open-embedder.ts'
export { requireEmbedder, requireVector } from './embedding/embedder.ts'
export type { Embedder, EmbedOptions } from './embedding/embedder.ts'
export type { EmbedderInput } from './embedding/options.ts'
export { MODEL_DEFAULT } from './embedding/models.ts'
export type { RuntimeName } from './embedding/runtime.ts'
export { documentOf, documentSimilarity, embedDocuments, vectorCosine } from './document.ts'
export type { DocumentVectors } from './document.ts'
