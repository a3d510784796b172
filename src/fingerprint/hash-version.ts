/**
 * The name of everything that decides what fingerprints come out: constants, tables and algorithm.
 *
 * It is stored beside fingerprints; two fingerprints compare only if it is the same. Constants and tables
 * are summed up by themselves. A change of algorithm is not, so it raises `ALGORITHMS` by hand; the golden
 * file turns red until it does.
 */

import { CHUNK_GEAR_SEED } from './gear.ts'
import { MINHASH_SEED } from './minhash-coefficients.ts'
import {
  mix,
  ROUND_STEP,
  SHINGLE_MULTIPLIER,
  SIMHASH_HIGH_SEED,
  SKETCH_SEED,
  WORD_MULTIPLIER,
  WORD_SEED,
} from './mix.ts'
import { HYPERPLANE_SEED } from './random-planes.ts'
import { SHORT_CODE_POINTS, UNSPACED_PERCENT } from './shingle-profile.ts'
import { lowerCaseRuns, separatorSpans, unspacedSpans } from './unicode-classes.ts'

const ALGORITHMS = 1

function summary(): string {
  const numbers = [
    SHINGLE_MULTIPLIER,
    WORD_MULTIPLIER,
    WORD_SEED,
    SKETCH_SEED,
    ROUND_STEP,
    SIMHASH_HIGH_SEED,
    SHORT_CODE_POINTS,
    UNSPACED_PERCENT,
    CHUNK_GEAR_SEED,
    MINHASH_SEED,
    HYPERPLANE_SEED,
    ...Buffer.from([separatorSpans, unspacedSpans, lowerCaseRuns].join('|')),
  ]
  let sum = 0
  for (const number of numbers) sum = mix(Math.imul(sum, 31) + number)
  return sum.toString(16).padStart(8, '0')
}

let version: string | undefined

/** `f1-2c9b41d7`: algorithms of version 1 with these constants. */
export function hashVersion(): string {
  version ??= `f${ALGORITHMS}-${summary()}`
  return version
}
