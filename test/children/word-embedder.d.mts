import type { Embedder } from '../../src/semantic/index.ts'

export function wordEmbedder(dimensions: number): Embedder
