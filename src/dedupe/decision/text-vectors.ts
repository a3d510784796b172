/**
 * The vectors that one batch of documents is compared by: those that are known, and those that a transaction lacks,
 * because it cannot wait for a model. These are embedded before it is run again.
 */

import type { DocumentVectors } from '../../semantic/index.ts'

export class TextVectors {
  /** `undefined`: of a text that is not compared. */
  readonly #known = new Map<string, DocumentVectors | undefined>()
  readonly #missing = new Set<string>()

  /** Of a text that is not known it is noted that it is missing. */
  of(text: string): DocumentVectors | undefined {
    if (!this.#known.has(text)) this.#missing.add(text)
    return this.#known.get(text)
  }

  /** Of a text that somebody has asked for before. */
  known(text: string): DocumentVectors | undefined {
    return this.#known.get(text)
  }

  get missing(): readonly string[] {
    return [...this.#missing]
  }

  add(text: string, vectors: DocumentVectors | undefined): void {
    this.#known.set(text, vectors)
    this.#missing.delete(text)
  }
}

/** Ends a transaction that has decided by less than all vectors. */
export class VectorsMissing extends Error {}

const SPACE = /[ \t\r\n]/

/** The beginning of a text, up to a space where there is one in its second half: at most so many bytes of UTF-8. */
export function beginningOf(text: string, bytesMax: number): string {
  if (text.length <= bytesMax && Buffer.byteLength(text) <= bytesMax) return text
  const bytes = Buffer.from(text.slice(0, bytesMax))
  let end = bytesMax
  // Not in the middle of a character: its further bytes are 10xxxxxx.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  const cut = bytes.toString('utf8', 0, end)
  for (let at = cut.length; at > cut.length / 2; at--) {
    if (SPACE.test(cut[at] ?? '')) return cut.slice(0, at)
  }
  return cut
}
