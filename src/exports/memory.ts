/** The subpath `memory`: facts of an agent, each kept once, contradictions side by side. */

export { openMemory } from '../memory/index.ts'
export type {
  Fact,
  Memory,
  MemoryOptions,
  Recalled,
  RelatedFact,
  Remembered,
} from '../memory/index.ts'
