/** What finds duplicates: the indexes of near fingerprints and of SimHash, and how texts are measured. */

import { concat } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { cosineFromBits, hashVersion, type ShingleProfile } from '../../fingerprint/index.ts'
import {
  groupKey,
  Measured,
  MeasuredCache,
  NearIndex,
  search,
  type Searched,
  TextLikeness,
  type TextNearSettings,
  VectorLikeness,
} from '../../match/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { nearSettingsOf, type PreparedDocument } from './prepare.ts'
import type { Prefer } from './rank.ts'
import type { Meanings } from './meaning.ts'
import { evidences, meanings, near, simhash } from '../rows.ts'

/** Two SimHashes within three bits share one of four sixteen-bit bands. */
const SIMHASH_BITS = 64
const SIMHASH_BANDING = { bands: 4, rows: 16 }
/** Of vectors of meaning. Tables in memory are looked through whole; elsewhere bands find what is very similar. */
export const MEANING_BITS = 768
const MEANING_BANDING = { bands: 64, rows: 12 }
const MEANING_SCAN_MAX = 1_000_000

export function simhashLikeness(): VectorLikeness {
  return new VectorLikeness(SIMHASH_BITS, SIMHASH_BANDING, 0)
}

export function meaningLikeness(): VectorLikeness {
  return new VectorLikeness(MEANING_BITS, MEANING_BANDING, MEANING_SCAN_MAX)
}

export interface NearLook {
  readonly group: Buffer
  readonly signature: Uint16Array
  readonly profile: ShingleProfile
  readonly evidence: Uint8Array
  own(): Measured
}

export class Engine {
  readonly config: DedupeConfig
  readonly settings: TextNearSettings
  readonly near: NearIndex<Uint16Array>
  readonly simhash: NearIndex<Uint8Array>
  readonly meanings: NearIndex<Uint8Array>
  /** What compares meanings, where that is asked for. */
  meaning: Meanings | undefined
  readonly #measured: MeasuredCache | undefined
  readonly #shelves = new Map<string, Buffer>()

  /** Compares copies in place of the rules. */
  readonly prefer: Prefer | undefined

  constructor(config: DedupeConfig, serial: boolean, prefer?: Prefer) {
    this.prefer = prefer
    const { candidatesMax, bucketMax } = config.near
    const options = { serial, candidatesMax, bucketMax }
    this.config = config
    this.settings = nearSettingsOf(config)
    const likeness = new TextLikeness(this.settings.slots, this.settings)
    this.near = new NearIndex(near, likeness, options)
    this.simhash = new NearIndex(simhash, simhashLikeness(), options)
    this.meanings = new NearIndex(meanings, meaningLikeness(), options)
    this.#measured = serial ? new MeasuredCache() : undefined
  }

  async load(backend: Backend): Promise<void> {
    await this.near.load(backend)
    await this.simhash.load(backend)
    await this.meanings.load(backend)
  }

  /** For whoever opens the state next. */
  async keepSnapshots(backend: Backend): Promise<void> {
    await this.near.keepSnapshot(backend)
    await this.simhash.keepSnapshot(backend)
    await this.meanings.keepSnapshot(backend)
  }

  doubt(): void {
    this.near.doubt()
    this.simhash.doubt()
    this.meanings.doubt()
  }

  looksOf(document: PreparedDocument): NearLook[] {
    return document.looks.map(({ profile, slots, evidence }) => ({
      group: this.shelf(profile),
      signature: slots,
      profile,
      evidence,
      own: lazily(evidence, profile),
    }))
  }

  shelf(profile: string): Buffer {
    const known = this.#shelves.get(profile)
    if (known) return known
    const { slots, hashVersion: version } = this.settings
    const { profile: form } = this.config.canonical
    const shelf = groupKey('dedupe', profile, String(slots), version, form)
    this.#shelves.set(profile, shelf)
    return shelf
  }

  simhashShelf(profile: string): Buffer {
    return groupKey('dedupe-simhash', profile, hashVersion(), this.config.canonical.profile)
  }

  *findNear(
    document: PreparedDocument,
    scope: Scope | undefined,
  ): Transaction<Searched<Uint16Array>> {
    const looks = this.looksOf(document)
    return yield* search(
      {
        index: this.near,
        looks,
        similarityMin: this.settings.similarityMin,
        measureAlone: ({ look, id }) => this.#measure(looks, look, id),
      },
      scope,
    )
  }

  /** Evidence goes with its representative: what has none left is none. */
  #measure(
    looks: readonly NearLook[],
    asked: object,
    id: Buffer,
  ): Transaction<number | undefined> | number | undefined {
    const look = looks.find((one) => one === asked)
    if (!look) return undefined
    const known = this.#measured?.get(id)
    if (!known) return this.#readAndMeasure(look, id)
    return look.own().similarityTo(known, this.settings.similarityMin)
  }

  *#readAndMeasure(look: NearLook, id: Buffer): Transaction<number | undefined> {
    const [bytes] = yield* read(cell(evidences, concat(look.group, id)))
    if (!bytes) return undefined
    const other = Measured.ofEvidence(bytes, look.profile)
    const similarity = look.own().similarityTo(other, this.settings.similarityMin)
    this.#measured?.keep(id, other)
    return similarity
  }

  *findSimhash(
    document: PreparedDocument,
    scope: Scope | undefined,
  ): Transaction<Searched<Uint8Array>> {
    const print = document.simhash
    const similarityMin = cosineFromBits(this.config.simhash.distanceMax, SIMHASH_BITS)
    const looks = print ? [{ group: this.simhashShelf(print.profile), signature: print.bits }] : []
    // The bits are all there is: what is estimated from them is exact.
    const measure = function* ({ estimate }: { estimate: number }): Transaction<number> {
      return estimate
    }
    return yield* search({ index: this.simhash, looks, similarityMin, measure }, scope)
  }
}

/** What a document is compared by is computed once, and only if something is found. */
function lazily(evidence: Uint8Array, profile: ShingleProfile): () => Measured {
  let made: Measured | undefined
  return () => (made ??= Measured.ofEvidence(evidence, profile))
}
