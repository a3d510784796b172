/** An engine that interleaves transactions at every step, from a seed. */

export {
  NO_FAULTS,
  SimulatedBackend,
  type SimulatedFaults,
  type SimulatedRow,
  SimulatedWorld,
  seededRandom,
} from './backend.ts'
