/**
 * Which side of random planes a vector lies on, one bit a plane, 1 for "on it or above".
 *
 * Sums are taken in a fixed order in single precision: a bit may hang on the last place of a sum, and must
 * not hang on who computed it.
 */

/** Dense planes, `stride` numbers each (a multiple of 4), `count` of them (a multiple of 8). */
export function denseBits(vector: usize, stride: u32, planes: usize, count: u32, out: usize): void {
  const bytes = (<usize>stride) << 2
  for (let plane: u32 = 0; plane < count; plane += 8) {
    const low = signs(fourProducts(vector, bytes, planes))
    const high = signs(fourProducts(vector, bytes, planes + (bytes << 2)))
    store<u8>(out + (plane >> 3), <u8>(low | (high << 4)))
    planes += bytes << 3
  }
}

/** Products of a vector with four others that lie side by side, `bytes` each (a multiple of 16). */
export function fourProducts(vector: usize, bytes: usize, planes: usize): v128 {
  let first = f32x4.splat(0)
  let second = f32x4.splat(0)
  let third = f32x4.splat(0)
  let fourth = f32x4.splat(0)
  for (let at: usize = 0; at < bytes; at += 16) {
    const four = v128.load(vector + at)
    const plane = planes + at
    first = f32x4.add(first, f32x4.mul(four, v128.load(plane)))
    second = f32x4.add(second, f32x4.mul(four, v128.load(plane + bytes)))
    third = f32x4.add(third, f32x4.mul(four, v128.load(plane + (bytes << 1))))
    fourth = f32x4.add(fourth, f32x4.mul(four, v128.load(plane + bytes * 3)))
  }
  // Each sum is (lane 0 + lane 2) + (lane 1 + lane 3).
  const left = f32x4.add(
    v128.shuffle<f32>(first, second, 0, 4, 1, 5),
    v128.shuffle<f32>(first, second, 2, 6, 3, 7),
  )
  const right = f32x4.add(
    v128.shuffle<f32>(third, fourth, 0, 4, 1, 5),
    v128.shuffle<f32>(third, fourth, 2, 6, 3, 7),
  )
  return f32x4.add(
    v128.shuffle<f32>(left, right, 0, 1, 4, 5),
    v128.shuffle<f32>(left, right, 2, 3, 6, 7),
  )
}

function signs(four: v128): i32 {
  return i32x4.bitmask(f32x4.ge(four, f32x4.splat(0)))
}

/**
 * Three rounds of random signs and a fast Hadamard transform, in place, then the signs of all `size` numbers
 * (a power of two, 8 at least).
 */
export function hadamardBits(vector: usize, size: u32, flips: usize, out: usize): void {
  const bytes = (<usize>size) << 2
  for (let round: usize = 0; round < 3; round++) {
    flipAndFold(vector, bytes, flips + round * bytes)
    for (let half: usize = 16; half < bytes; half <<= 1) butterfly(vector, bytes, half)
  }
  for (let at: usize = 0; at < bytes; at += 32) {
    const low = signs(v128.load(vector + at))
    const high = signs(v128.load(vector + at, 16))
    store<u8>(out + (at >> 5), <u8>(low | (high << 4)))
  }
}

/** The signs, and the two steps of the transform that stay within four numbers. */
function flipAndFold(vector: usize, bytes: usize, flips: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) {
    const four = f32x4.mul(v128.load(vector + at), v128.load(flips + at))
    const pairs = f32x4.add(
      v128.shuffle<f32>(four, four, 0, 0, 2, 2),
      f32x4.mul(v128.shuffle<f32>(four, four, 1, 1, 3, 3), f32x4(1, -1, 1, -1)),
    )
    const whole = f32x4.add(
      v128.shuffle<f32>(pairs, pairs, 0, 1, 0, 1),
      f32x4.mul(v128.shuffle<f32>(pairs, pairs, 2, 3, 2, 3), f32x4(1, 1, -1, -1)),
    )
    v128.store(vector + at, whole)
  }
}

function butterfly(vector: usize, bytes: usize, half: usize): void {
  for (let start: usize = 0; start < bytes; start += half << 1) {
    for (let at = vector + start, end = vector + start + half; at < end; at += 16) {
      const low = v128.load(at)
      const high = v128.load(at + half)
      v128.store(at, f32x4.add(low, high))
      v128.store(at + half, f32x4.sub(low, high))
    }
  }
}

/**
 * Products of one vector with many, of codes of eight bits. The one comes as numbers of 16 bits; `stride` codes make
 * a vector (a multiple of 16), of which there are `count`. Sums are whole numbers, so nothing hangs on their order.
 */
export function codeDots(query: usize, stride: u32, codes: usize, count: u32, out: usize): void {
  const bytes = <usize>stride
  let vector: u32 = 0
  for (; vector + 4 <= count; vector += 4) {
    v128.store(out, fourDots(query, bytes, codes))
    codes += bytes << 2
    out += 16
  }
  for (; vector < count; vector++) {
    store<i32>(out, oneDot(query, bytes, codes))
    codes += bytes
    out += 4
  }
}

/** Four vectors at a time share what is read of the one. */
function fourDots(query: usize, bytes: usize, codes: usize): v128 {
  let first = i32x4.splat(0)
  let second = i32x4.splat(0)
  let third = i32x4.splat(0)
  let fourth = i32x4.splat(0)
  for (let at: usize = 0; at < bytes; at += 16) {
    const low = v128.load(query + (at << 1))
    const high = v128.load(query + (at << 1), 16)
    const row = codes + at
    first = i32x4.add(first, sixteen(row, low, high))
    second = i32x4.add(second, sixteen(row + bytes, low, high))
    third = i32x4.add(third, sixteen(row + (bytes << 1), low, high))
    fourth = i32x4.add(fourth, sixteen(row + bytes * 3, low, high))
  }
  const left = i32x4.add(
    v128.shuffle<i32>(first, second, 0, 4, 1, 5),
    v128.shuffle<i32>(first, second, 2, 6, 3, 7),
  )
  const right = i32x4.add(
    v128.shuffle<i32>(third, fourth, 0, 4, 1, 5),
    v128.shuffle<i32>(third, fourth, 2, 6, 3, 7),
  )
  return i32x4.add(
    v128.shuffle<i32>(left, right, 0, 1, 4, 5),
    v128.shuffle<i32>(left, right, 2, 3, 6, 7),
  )
}

function oneDot(query: usize, bytes: usize, codes: usize): i32 {
  let four = i32x4.splat(0)
  for (let at: usize = 0; at < bytes; at += 16) {
    const low = v128.load(query + (at << 1))
    const high = v128.load(query + (at << 1), 16)
    four = i32x4.add(four, sixteen(codes + at, low, high))
  }
  const two = i32x4.add(four, v128.shuffle<i32>(four, four, 2, 3, 0, 1))
  return i32x4.extract_lane(two, 0) + i32x4.extract_lane(two, 1)
}

/** Four sums of the products of sixteen codes. */
function sixteen(codes: usize, low: v128, high: v128): v128 {
  return i32x4.add(
    i32x4.dot_i16x8_s(v128.load_ext<i8>(codes), low),
    i32x4.dot_i16x8_s(v128.load_ext<i8>(codes, 8), high),
  )
}

/** The same with those of the vectors from `codes` on whose numbers are at `rows`. */
export function codeDotsOf(
  query: usize,
  stride: u32,
  codes: usize,
  rows: usize,
  count: u32,
  out: usize,
): void {
  const bytes = <usize>stride
  for (let vector: u32 = 0; vector < count; vector++) {
    store<i32>(out, oneDot(query, bytes, codes + <usize>load<u32>(rows) * bytes))
    rows += 4
    out += 4
  }
}
