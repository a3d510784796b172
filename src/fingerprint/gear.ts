/** The random words content-defined chunks are cut by: one a byte value, from a seed. */

import { randomWords } from './mix.ts'

export const CHUNK_GEAR_SEED = 0x0cdc0cdc

let table: Uint32Array | undefined

export function gearTable(): Uint32Array {
  table ??= Uint32Array.from({ length: 256 }, randomWords(CHUNK_GEAR_SEED))
  return table
}
