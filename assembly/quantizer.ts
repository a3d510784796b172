/**
 * What an index of lists and product codes is computed by: products of a vector with rows of numbers, the nearest row of
 * many vectors, and sums of what the codes of a vector stand for.
 *
 * Rows are `bytes` long, a multiple of 16, and their number is a multiple of 4.
 */

import { fourProducts } from './vectors'

/** Rows that stay in the first cache while all vectors of a batch pass. */
const TILE_BYTES: usize = 16384
/** Codes of one group: as many numbers are in its part of the table. */
const CODES: usize = 256

export function rowProducts(vector: usize, bytes: u32, rows: usize, count: u32, out: usize): void {
  for (let row: u32 = 0; row < count; row += 4) {
    v128.store(out, fourProducts(vector, bytes, rows))
    rows += (<usize>bytes) << 2
    out += 16
  }
}

/**
 * The row nearest to every vector: of which the product, less half the square of the row (at `halves`), is greatest; of
 * equals, the first. `out` takes the numbers of the rows (4 bytes each), and behind them what they scored.
 */
export function nearestRows(
  vectors: usize,
  stride: u32,
  count: u32,
  bytes: u32,
  rows: usize,
  halves: usize,
  rowCount: u32,
  out: usize,
): void {
  const scores = out + ((<usize>count) << 2)
  for (let at: u32 = 0; at < count; at++) store<f32>(scores + ((<usize>at) << 2), -Infinity)
  let tile = <u32>(TILE_BYTES / bytes) & ~3
  if (tile < 4) tile = 4
  for (let from: u32 = 0; from < rowCount; from += tile) {
    const end = min(rowCount, from + tile)
    let vector = vectors
    for (let at: u32 = 0; at < count; at++) {
      nearestInTile(
        vector,
        bytes,
        rows,
        halves,
        from,
        end,
        out + ((<usize>at) << 2),
        scores + ((<usize>at) << 2),
      )
      vector += stride
    }
  }
}

function nearestInTile(
  vector: usize,
  bytes: usize,
  rows: usize,
  halves: usize,
  from: u32,
  end: u32,
  out: usize,
  score: usize,
): void {
  let best = f32x4.splat(load<f32>(score))
  let row = rows + <usize>from * bytes
  for (let at = from; at < end; at += 4) {
    const four = f32x4.sub(fourProducts(vector, bytes, row), v128.load(halves + ((<usize>at) << 2)))
    row += bytes << 2
    const better = i32x4.bitmask(f32x4.gt(four, best))
    if (better == 0) continue
    // Pairs first, then the better of both; the first of equals.
    const zero = f32x4.extract_lane(four, 0)
    const one = f32x4.extract_lane(four, 1)
    const two = f32x4.extract_lane(four, 2)
    const three = f32x4.extract_lane(four, 3)
    const low = max(zero, one)
    const high = max(two, three)
    const greatest = max(low, high)
    const lane: u32 = zero == greatest ? 0 : one == greatest ? 1 : two == greatest ? 2 : 3
    store<u32>(out, at + lane)
    store<f32>(score, greatest)
    best = f32x4.splat(greatest)
  }
}

/** Of every vector, the sum of the numbers of its codes: `groups` codes of one byte, each with its part of the table. */
export function codeSums(table: usize, groups: u32, codes: usize, count: u32, out: usize): void {
  for (let vector: u32 = 0; vector < count; vector++) {
    let part = table
    let even: f32 = 0
    let odd: f32 = 0
    let group: u32 = 0
    for (; group + 4 <= groups; group += 4) {
      const four = load<u32>(codes + group)
      even += load<f32>(part + ((<usize>(four & 0xff)) << 2))
      odd += load<f32>(part + ((<usize>((four >> 8) & 0xff)) << 2), CODES << 2)
      even += load<f32>(part + ((<usize>((four >> 16) & 0xff)) << 2), CODES << 3)
      odd += load<f32>(part + ((<usize>(four >> 24)) << 2), CODES * 12)
      part += CODES << 4
    }
    for (; group < groups; group++) {
      even += load<f32>(part + ((<usize>load<u8>(codes + group)) << 2))
      part += CODES << 2
    }
    store<f32>(out, even + odd)
    codes += groups
    out += 4
  }
}
