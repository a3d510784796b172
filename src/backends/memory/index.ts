/** An engine in memory. */

export { MemoryBackend, MemoryEngine } from './backend.ts'
