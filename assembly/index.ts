/** What the module offers. Every call is complete in itself and leaves nothing behind but its answer. */

import { closeList, gather, membersOfSet, openList } from './distinct'
import { behind, HASHES, HIGH_PLANES, LOW_PLANES, RESULTS } from './memory'
import { shinglesKept, shinglesMade, TO_BOTH, TO_SET, TO_SIMHASH, TO_SKETCH } from './shingles'
import { majorityOf, openPlanes } from './simhash'
import { emptySlots, fillRest, fold, openSlots } from './sketch'
import { feed } from './text'
import { hash64 } from './xxhash64'

export { cut } from './chunks'
export { folded, gear, heap, reserve, results, separators, steps, unspaced } from './memory'
export { minhash64 } from './minhash64'
export { codeSums, nearestRows, rowProducts } from './quantizer'
export { sample } from './sample'
export { inspect } from './text'
export { codeDots, codeDotsOf, denseBits, hadamardBits } from './vectors'

/** The sketch of a text. Results: sum of values (f64), distinct shingles (u32) or 0 if not counted. */
export function sketch(text: usize, length: u32, kind: u32, width: u32, slots: u32): u32 {
  openSlots(slots)
  const beside = feed(text, length, kind, width, TO_SKETCH, behind(text + length))
  const made = shinglesMade()
  let distinct: u32 = 0
  if (made > 0 && emptySlots() > 0) {
    distinct = distinctOf(text, length, kind, width, beside)
    fillRest(membersOfSet(), distinct)
  }
  store<f64>(RESULTS, fold())
  store<u32>(RESULTS + 8, distinct)
  return made
}

/** The distinct shingles of the text just sketched; from the text again if there were too many to keep. */
function distinctOf(text: usize, length: u32, kind: u32, width: u32, beside: usize): u32 {
  const kept = shinglesKept()
  openList(beside)
  if (kept > 0) gather(HASHES, kept)
  else collect(text, length, kind, width, TO_SET, beside)
  return closeList()
}

function collect(text: usize, length: u32, kind: u32, width: u32, sink: u32, beside: usize): void {
  const bits = behind(text + length)
  openList(beside > bits ? beside : behind(bits + (length >> 3)))
  feed(text, length, kind, width, sink, bits)
}

/** The distinct shingles of a text in ascending order; the results say where. */
export function shingleSet(text: usize, length: u32, kind: u32, width: u32): u32 {
  collect(text, length, kind, width, TO_SET, 0)
  const count = closeList()
  store<u32>(RESULTS, <u32>membersOfSet())
  return count
}

/** Both of one pass. Results: as of `sketch`, then where the distinct shingles are and how many. */
export function sketchAndSet(text: usize, length: u32, kind: u32, width: u32, slots: u32): u32 {
  openSlots(slots)
  collect(text, length, kind, width, TO_BOTH, 0)
  const made = shinglesMade()
  const count = closeList()
  const isCounted = made > 0 && emptySlots() > 0
  if (isCounted) fillRest(membersOfSet(), count)
  store<f64>(RESULTS, fold())
  store<u32>(RESULTS + 8, isCounted ? count : 0)
  store<u32>(RESULTS + 12, <u32>membersOfSet())
  store<u32>(RESULTS + 16, count)
  return made
}

/** SimHash of all shingles of a text, repeated ones counted as often as they come. Results: low, high. */
export function simhash(text: usize, length: u32, kind: u32, width: u32): u32 {
  openPlanes()
  feed(text, length, kind, width, TO_SIMHASH, behind(text + length))
  const made = shinglesMade()
  store<u32>(RESULTS, majorityOf(LOW_PLANES, made))
  store<u32>(RESULTS + 4, majorityOf(HIGH_PLANES, made))
  return made
}

/** XXH64 of the bytes; the results hold it. */
export function xxhash64(at: usize, length: u32): void {
  store<u64>(RESULTS, hash64(at, length))
}
