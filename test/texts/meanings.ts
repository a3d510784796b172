/**
 * An embedder for tests: small, deterministic, and counting. A text is the sum of a direction for each of its words,
 * so texts that share most words lie near each other.
 */

import { createHash } from 'node:crypto'

import type { Embedder } from '../../src/semantic/index.ts'

export interface WordEmbedder extends Embedder {
  /** Texts that were embedded, in order. */
  readonly asked: string[]
}

export function wordEmbedder(id = 'words-32', dimensions = 32): WordEmbedder {
  const asked: string[] = []
  return {
    id,
    dimensions,
    asked,
    async embed(texts) {
      asked.push(...texts)
      await Promise.resolve()
      return texts.map((text) => vectorOf(text, id, dimensions))
    },
  }
}

export function vectorOf(text: string, id = 'words-32', dimensions = 32): Float32Array {
  const sums = new Float32Array(dimensions)
  for (const word of text.toLowerCase().split(/\s+/)) {
    const bytes = createHash('sha512').update(`${id} ${word}`).digest()
    for (let at = 0; at < dimensions; at++) {
      sums[at] = (sums[at] ?? 0) + ((bytes[at % 64] ?? 0) - 127.5) / 128
    }
  }
  return sums
}

const WORDS = 'red green blue black white brown amber ivory coral olive azure beige'.split(' ')

/** A sentence of its own; `variant` replaces its last word. */
export function sentence(number: number, variant = 0): string {
  const words = Array.from(
    { length: 12 },
    (_, at) => `${WORDS[(number * 7 + at * (1 + (number % 5))) % 12]}${letters(number)}`,
  )
  if (variant > 0) words[11] = `variant${letters(variant)}`
  return words.join(' ')
}

/** Numbers as letters: digits would be a matter for guards. */
function letters(number: number): string {
  return String(number).replaceAll(/\d/g, (digit) => 'abcdefghij'[Number(digit)] ?? '')
}
