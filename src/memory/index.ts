/**
 * The memory of an agent: facts, each kept once; what says more beside what it refines, and contradictions side by side.
 *
 * Invariant: no fact is merged into another, and none is dropped unless one that says the same is kept.
 */

export { Memory, openMemory } from './memory.ts'
export type { Fact, MemoryOptions, Recalled, RelatedFact, Remembered } from './memory.ts'
