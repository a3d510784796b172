/** What profiles choose a shape by, in TypeScript. See `assembly/sample.ts`. */

import { entropySteps, type TextSample } from './adaptive-width.ts'
import type { TextMeasures } from './shingle-profile.ts'
import { decode, inspect, UNIT_BITS } from './twin-text.ts'

const SAMPLE = 2048
const PIECES = 128
const PIECE = 16
const KINDS = 4096

export function textMeasures(bytes: Uint8Array): TextMeasures {
  return { counts: () => inspect(bytes), sample: () => sampleOf(bytes) }
}

function sampleOf(bytes: Uint8Array): TextSample {
  let codePoints = 0
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) codePoints++
  const counter = new Counter(bytes)
  if (codePoints <= SAMPLE) counter.count(0, SAMPLE)
  else {
    for (let piece = 0; piece < PIECES; piece++) {
      let at = Math.floor((piece * bytes.length) / PIECES)
      while (((bytes[at] ?? 0) & 0xc0) === 0x80) at++
      counter.count(at, PIECE)
    }
  }
  const { sampled, ideographs, repetition } = counter
  return { codePoints, sampled, ideographs, repetition }
}

class Counter {
  sampled = 0
  ideographs = 0
  repetition = 0
  readonly #bytes: Uint8Array
  readonly #counts = new Uint16Array(KINDS)

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  count(from: number, most: number): void {
    const steps = entropySteps()
    for (let at = from, left = most; at < this.#bytes.length && left > 0; left--) {
      const found = decode(this.#bytes, at)
      const unit = found & UNIT_BITS
      const before = this.#counts[unit & (KINDS - 1)] ?? 0
      this.#counts[unit & (KINDS - 1)] = before + 1
      this.repetition += steps[before] ?? 0
      this.sampled++
      if (isIdeograph(unit)) this.ideographs++
      at += found >>> 24
    }
  }
}

/** Radicals, kana, Han and Yi. */
function isIdeograph(unit: number): boolean {
  if (unit < 0x2e80) return false
  return unit < 0xa4d0 || (unit >= 0xf900 && unit < 0xfb00) || (unit >= 0x20000 && unit < 0x40000)
}
