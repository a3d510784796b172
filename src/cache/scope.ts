/**
 * Scopes: how prompts of one store are kept apart by all that answers depend on.
 *
 * A prompt is stored as its scope's digest, in 16 braille patterns, a line feed, and the prompt. Braille patterns are symbols:
 * guards, which read words and numbers, do not see them. The embedder below takes them off, and changes the signs of the
 * vector's numbers by the scope: within a scope cosines are as they were, to the bit; between two scopes the signs are as good
 * as random, so a search finds neighbours of its own scope, and eviction and expiry are those of one store. That an answer is of
 * its scope does not rely on it: keys begin with the scope, and are compared.
 */

import { digestOf } from '../fingerprint/index.ts'
import { canonicalProfile } from '../canonical/index.ts'
import type { Embedder, EmbedOptions } from '../semantic/index.ts'
import { type JsonValue, jsonText } from '../store/index.ts'

const BYTES = 16
const BRAILLE = 0x2800
/** Recent vectors, so that the prompt of a miss is not embedded again when its answer is set. */
const RECENT_MAX = 512

const profile = canonicalProfile('unicode')

/** Where a prompt is kept. */
export interface Address {
  /** Scope, canonical form and prompt, 16 bytes of SHA-256 each, in hex. */
  readonly id: string
  /** The beginning of the ids of all prompts with this canonical form. */
  readonly form: string
  readonly scope: string
  /** The prompt as it is stored and compared. */
  readonly text: string
}

const shortDigest = (text: string | Uint8Array) => digestOf(Buffer.from(text)).subarray(0, BYTES)

/** `kind`: whole answers and streams do not answer each other. */
export function addressOf(
  prompt: string,
  scope: JsonValue | undefined,
  kind: 'answer' | 'stream',
): Address {
  const own = shortDigest(jsonText([kind, scope ?? null]))
  const hex = own.toString('hex')
  const canonical = profile?.canonicalise(Buffer.from(prompt)) ?? Buffer.from(prompt)
  const form = `${hex}/${shortDigest(canonical).toString('hex')}/`
  const id = form + shortDigest(prompt).toString('hex')
  return { id, form, scope: hex, text: scopedText(own, prompt) }
}

function scopedText(scope: Uint8Array, prompt: string): string {
  return `${String.fromCharCode(...Array.from(scope, (byte) => BRAILLE + byte))}\n${prompt}`
}

/** The prompt of a text that `addressOf` made. */
export function promptOf(text: string): string {
  return text.slice(BYTES + 1)
}

export function scopedEmbedder(inner: Embedder): Embedder {
  const { id, dimensions } = inner
  const recent = new Map<string, readonly Float32Array[]>()
  const windowsOf = async (prompts: readonly string[], options: EmbedOptions) =>
    inner.embedWindows
      ? inner.embedWindows(prompts, options)
      : (await inner.embed(prompts, options)).map((vector) => [vector])
  const embedWindows = async (texts: readonly string[], options: EmbedOptions) => {
    const missing = [...new Set(texts.map(promptOf))].filter((prompt) => !recent.has(prompt))
    const made = missing.length === 0 ? [] : await windowsOf(missing, options)
    const found = new Map(missing.map((prompt, at) => [prompt, made[at] ?? []]))
    const all = texts.map((text) => {
      const windows = found.get(promptOf(text)) ?? recent.get(promptOf(text)) ?? []
      return windows.map((vector) => signed(vector, text))
    })
    for (const [prompt, windows] of found) {
      recent.set(prompt, windows)
      const [oldest] = recent.keys()
      if (recent.size > RECENT_MAX && oldest !== undefined) recent.delete(oldest)
    }
    return all
  }
  return {
    id: `scoped-1/${id}`,
    dimensions,
    embedWindows,
    embed: async (texts, options) =>
      (await embedWindows(texts, options)).map((windows) => windows[0] ?? new Float32Array(0)),
  }
}

/** One bit of the scope's digest, and of digests made from it, for every number. */
function signed(vector: Float32Array, text: string): Float32Array {
  const scope = Buffer.from(text.slice(0, BYTES))
  let bits: Uint8Array = scope
  return vector.map((number, at) => {
    if (at % 256 === 0) bits = digestOf(Buffer.concat([scope, Buffer.of(at >> 8)]))
    return ((bits[(at % 256) >> 3] ?? 0) >> (at & 7)) & 1 ? -number : number
  })
}
