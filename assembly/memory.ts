/**
 * Where everything lies in linear memory.
 *
 * Tables and buffers of fixed size stand first. From `heap()` on the memory belongs to the caller: the
 * input goes there, and what a kernel needs besides it goes right behind the input. Nothing is freed:
 * every call starts from the same place again.
 */

/** Code points below this have a bit in the class tables; no separator lies above. */
export const CLASSED_CODE_POINTS: u32 = 0x20000
/** Units that are turned into shingles at a time. */
export const BLOCK_UNITS: u32 = 2048
/** The longest shingle, in units. */
export const WIDTH_MAX: u32 = 32
/** As many shingles of a text are kept; with more, a sketch that needs them again reads the text again. */
export const KEPT_MAX: u32 = 8192
export const SLOTS_MAX: u32 = 512
/** Vector loads and stores may reach this far over an end. */
export const SLACK_BYTES: u32 = 64

/** One bit a code point: 1 for what separates words. The host writes both tables. */
export const SEPARATORS: usize = memory.data(16384, 16)
/** One bit a code point: 1 for scripts written without spaces. */
export const UNSPACED: usize = memory.data(16384, 16)
/** 256 random words for content-defined chunks. The host writes them. */
export const GEAR: usize = memory.data(1024, 16)

/** By how much n log2 n grows with the n-th of a kind, in 65,536ths. The host writes them. */
export const STEPS: usize = memory.data(8192, 16)
/** How often each kind of character was seen. */
export const COUNTS: usize = memory.data(8192, 16)

export const UNITS: usize = memory.data(8192 + 256, 16)
export const UNITS_END: usize = UNITS + 8192
export const HASHES: usize = memory.data(32768 + 8192 + 64, 16)
export const MULTIPLIERS: usize = memory.data(512, 16)
export const SLOTS: usize = memory.data(2048, 16)
export const FOLDED: usize = memory.data(1024, 16)
export const LOW_PLANES: usize = memory.data(544, 16)
export const HIGH_PLANES: usize = memory.data(544, 16)
/** Small answers that do not fit in a return value. */
export const RESULTS: usize = memory.data(64, 16)

export function separators(): usize {
  return SEPARATORS
}

export function unspaced(): usize {
  return UNSPACED
}

export function gear(): usize {
  return GEAR
}

export function steps(): usize {
  return STEPS
}

export function folded(): usize {
  return FOLDED
}

export function results(): usize {
  return RESULTS
}

export function heap(): usize {
  return (__heap_base + 63) & ~63
}

/** The first aligned place behind `at`, vector slack included. */
export function behind(at: usize): usize {
  return (at + SLACK_BYTES + 63) & ~63
}

/** Makes sure that memory reaches to `end`, and a megabyte further if it has to grow. */
export function reserve(end: usize): void {
  const have = (<usize>memory.size()) << 16
  const needed = end + SLACK_BYTES
  if (needed <= have) return
  const pages = (needed - have + 0xfffff) >> 16
  if (memory.grow(<i32>pages) < 0) unreachable()
}
