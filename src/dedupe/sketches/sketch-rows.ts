/**
 * From a document to the rows by which any engine finds its duplicates: digests, signatures and band keys, the same
 * that the job decides by.
 *
 * A text is kept by one profile of shingles, its own, and looked for by those that a near duplicate may have: a row
 * for each, its own first. Pure: what is written depends on the texts and the settings alone.
 */

import { createHash } from 'node:crypto'

import type { CanonicalProfile } from '../../canonical/index.ts'
import { bandKeys64, lentSketch, profilesOf } from '../../fingerprint/index.ts'
import { type Document, utf8Of } from '../../input/index.ts'
import type { TextNearSettings } from '../../match/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { formProfile, nearSettingsOf } from '../decision/prepare.ts'

export interface SketchRow {
  readonly profile: string
  /** The profile by which others find it; by all of them it finds others. */
  readonly own: boolean
  /** SHA-256 of the text, and of its canonical form. */
  readonly digest: Buffer
  readonly form: Buffer
  readonly bytes: bigint
  /** Distinct ones. */
  readonly shingles: number
  readonly signature: number[]
  readonly bands: bigint[]
  /** Hashes of the shingles, as signed numbers, ascending as unsigned ones; none unless they are wanted. */
  readonly hashes: number[]
}

export class Sketcher {
  readonly settings: TextNearSettings
  readonly canonical: CanonicalProfile
  readonly #isNear: boolean
  readonly #keepsHashes: boolean

  constructor(config: DedupeConfig, keepsHashes: boolean) {
    this.settings = nearSettingsOf(config)
    this.canonical = formProfile(config)
    this.#isNear = config.near.enabled
    this.#keepsHashes = keepsHashes
  }

  /** At least one: a text without a word has a signature of nothing. */
  rowsOf(document: Document): SketchRow[] {
    const text = utf8Of(document) ?? Buffer.from(document.text)
    const canonical = this.canonical.canonicalise(text)
    const digest = sha256(text)
    const isBlank = canonical.byteLength === 0 && this.canonical.keepsBlanksApart
    const form = isBlank ? digest : sha256(canonical)
    const same = { digest, form, bytes: BigInt(text.byteLength) }
    const { profile: asked, similarityMin, slots, bands, rows } = this.settings
    const all: SketchRow[] = []
    for (const [at, profile] of profilesOf(canonical, asked, similarityMin).entries()) {
      const { sketch, hashes } = lentSketch(canonical, { profile, slots })
      const isNothing = sketch.isEmpty || !this.#isNear
      if (isNothing && at > 0) continue
      all.push({
        profile,
        own: at === 0,
        ...same,
        shingles: hashes.length,
        signature: isNothing ? [] : [...sketch.slots],
        bands: isNothing ? [] : bandKeys64(sketch.slots, bands, rows),
        hashes: isNothing || !this.#keepsHashes ? [] : [...new Int32Array(hashes)],
      })
    }
    return all
  }
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest()
}
