/** What finds duplicates: the indexes of near fingerprints and of SimHash, and how texts are measured. */

import { PrestigeError } from '../../platform/errors.ts'
import { versioned } from '../../platform/settings.ts'
import type { CanonicalProfile } from '../../canonical/index.ts'
import { type Backend, type Codec, type Scope, type Transaction } from '../../backends/index.ts'
import { cosineFromBits, hashVersion } from '../../fingerprint/index.ts'
import {
  BitLayout,
  type Candidate,
  type Canonicalise,
  judgementOf,
  Matcher,
  MatchIndex,
  Measured,
  type MemoryBound,
  partitionKey,
  type Searched,
  type SimHashProbe,
  SimHashScheme,
  type TextNearSettings,
  type TextProbe,
  TextScheme,
} from '../../match/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { containmentOf, type JobContainment } from './containment.ts'
import { EvidenceReader, keyIn } from './packs.ts'
import { formProfile, nearSettingsOf, type PreparedDocument } from './prepare.ts'
import type { Prefer } from './rank.ts'
import type { Meanings } from './meaning.ts'
import { meanings, near, simhash } from '../rows.ts'

/** Two SimHashes within three bits share one of four sixteen-bit bands. */
const SIMHASH_BITS = 64
const SIMHASH_BANDING = { bands: 4, rows: 16 }
/** Of vectors of meaning. Tables in memory are looked through whole; elsewhere bands find what is very similar. */
export const MEANING_BITS = 768
export const MEANING_BANDING = { bands: 64, rows: 12 }
const MEANING_SCAN_MAX = 1_000_000

export function simhashScheme(): SimHashScheme {
  return new SimHashScheme(SIMHASH_BITS, SIMHASH_BANDING, 0)
}

export function meaningLayout(): BitLayout {
  return new BitLayout(MEANING_BITS, MEANING_BANDING, MEANING_SCAN_MAX)
}

/** The name says version 1, as it did when there was no other: `unicode`, `unicode, version 2`. */
function recordedForm(form: CanonicalProfile): string {
  return form.version === 1 ? form.name : versioned(form)
}

/** The version of a form that was recorded so. */
export function recordedVersion(form: string): number {
  const [, version = '1'] = form.split(', version ')
  return Number(version)
}

/** What is kept with a representative is the key of its document, and where its text is packed. */
export const keyCodec: Codec<Buffer> = { encode: (payload) => payload, decode: keyIn }

export interface NearProbe extends TextProbe {
  readonly evidence: Uint8Array
}

export interface EngineOptions {
  /** Compares copies in place of the rules. */
  readonly prefer?: Prefer | undefined
  /** Of the canonical profile. */
  readonly formVersion?: number | undefined
  /** Bytes that the indexes of near fingerprints and of SimHash may have together. Default: no bound. */
  readonly memory?: number | undefined
}

/** An entry of SimHash is a fifth of one of a sketch. */
const SIMHASH_SHARE = 1 / 5

/** What each index may have. */
function boundsOf(
  { near: byNear, simhash: bySimhash }: DedupeConfig,
  serial: boolean,
  memory: number,
): { readonly near?: MemoryBound; readonly simhash?: MemoryBound } {
  if (!serial) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      'memory: bounds tables in memory, and a state on a server has none. Leave memory out.',
    )
  }
  if (!byNear.enabled && !bySimhash.enabled) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      'memory: bounds the indexes of near and simhash, and neither is enabled. Leave memory out.',
    )
  }
  const share = bySimhash.enabled ? (byNear.enabled ? SIMHASH_SHARE : 1) : 0
  return {
    ...(byNear.enabled && { near: { bytesMax: memory * (1 - share) } }),
    ...(bySimhash.enabled && { simhash: { bytesMax: memory * share } }),
  }
}

export class Engine {
  readonly config: DedupeConfig
  /** The canonical profile as a state records it. */
  readonly form: string
  readonly settings: TextNearSettings
  readonly near: Matcher<NearProbe, Buffer>
  readonly simhash: Matcher<SimHashProbe, Buffer>
  readonly meanings: MatchIndex<Uint8Array>
  /** What finds which documents contain which, where that is asked for. */
  readonly containment: JobContainment | undefined
  /** What compares meanings, where that is asked for. */
  meaning: Meanings | undefined
  readonly evidence: EvidenceReader = new EvidenceReader()
  readonly #partitions = new Map<string, Buffer>()
  readonly #canonicalise: Canonicalise

  /** Compares copies in place of the rules. */
  readonly prefer: Prefer | undefined

  constructor(
    config: DedupeConfig,
    serial: boolean,
    { prefer, formVersion, memory }: EngineOptions = {},
  ) {
    this.prefer = prefer
    const bounds = memory === undefined ? {} : boundsOf(config, serial, memory)
    const form = formProfile(config, formVersion)
    this.form = recordedForm(form)
    const { canonicalise } = form
    this.#canonicalise = canonicalise
    const { candidatesMax, bucketMax } = config.near
    const limits = { serial, candidatesMax, bucketMax }
    this.config = config
    this.containment = containmentOf(config, serial, this.evidence, prefer)
    this.settings = nearSettingsOf(config)
    const { similarityMin, slots } = this.settings
    const scheme = new TextScheme(slots, this.settings)
    const nearIndex = new MatchIndex(near, scheme, { ...limits, memory: bounds.near })
    const judgement = judgementOf(this.settings)
    const readEvidence = evidenceReader(this.evidence, canonicalise)
    const policy = { similarityMin, readEvidence, judgement }
    this.near = new Matcher(nearIndex, scheme, keyCodec, policy)
    const bits = simhashScheme()
    const simhashIndex = new MatchIndex(simhash, bits, { ...limits, memory: bounds.simhash })
    const cosineMin = cosineFromBits(config.simhash.distanceMax, SIMHASH_BITS)
    this.simhash = new Matcher(simhashIndex, bits, keyCodec, { similarityMin: cosineMin })
    this.meanings = new MatchIndex(meanings, meaningLayout(), limits)
  }

  /** Whether documents are kept without what others have. */
  get cuts(): boolean {
    return this.containment !== undefined && this.config.containment.action === 'cut'
  }

  get #indexes(): readonly Pick<MatchIndex<never>, 'load' | 'invalidate'>[] {
    return [this.near.index, this.simhash.index, this.meanings]
  }

  async load(backend: Backend): Promise<void> {
    for (const index of this.#indexes) await index.load(backend)
    await this.containment?.index.load(backend)
  }

  *removeContainable(scope: Scope, row: Buffer): Transaction<void> {
    if (this.containment) yield* this.containment.remove(scope, row)
  }

  /** Before the first and after the last document of a transaction. */
  gather(scope: Scope): void {
    this.near.index.gather(scope)
    this.simhash.index.gather(scope)
  }

  flush(scope: Scope): void {
    this.near.index.flush(scope)
    this.simhash.index.flush(scope)
  }

  /** Keeps to the memory there may be. To be called between transactions. */
  async spill(backend: Backend): Promise<void> {
    await this.near.index.spill(backend)
    await this.simhash.index.spill(backend)
  }

  /** For whoever opens the state next. Of tables that are whole in memory nothing is kept: the journal has it all. */
  async sealRest(backend: Backend): Promise<void> {
    await this.near.index.sealRest(backend)
    await this.simhash.index.sealRest(backend)
  }

  invalidate(): void {
    for (const index of this.#indexes) index.invalidate()
    this.containment?.index.invalidate()
  }

  probesOf(document: PreparedDocument): NearProbe[] {
    return document.looks.map(({ profile, slots, evidence }) => ({
      partition: this.partition(profile),
      signature: slots,
      own: Measured.ofEvidence(evidence, this.#canonicalise, profile),
      profile,
      evidence,
    }))
  }

  partition(profile: string): Buffer {
    const known = this.#partitions.get(profile)
    if (known) return known
    const { slots, hashVersion: version } = this.settings
    const partition = partitionKey('dedupe', profile, String(slots), version, this.form)
    this.#partitions.set(profile, partition)
    return partition
  }

  simhashPartition(profile: string): Buffer {
    return partitionKey('dedupe-simhash', profile, hashVersion(), this.form)
  }

  /** Unless it is of `self`, the document itself as it was. */
  *findNear(
    document: PreparedDocument,
    self: Buffer | undefined,
    scope: Scope | undefined,
  ): Transaction<Searched<NearProbe, Buffer>> {
    const wanted = { counts: isOther(self), onlyBest: true }
    return yield* this.near.find(this.probesOf(document), scope, wanted)
  }

  *findSimhash(
    { simhash: print }: PreparedDocument,
    self: Buffer | undefined,
    scope: Scope | undefined,
  ): Transaction<Searched<SimHashProbe, Buffer>> {
    const probes = print ? [this.simhashProbe(print)] : []
    return yield* this.simhash.find(probes, scope, { counts: isOther(self) })
  }

  simhashProbe({ bits, profile }: NonNullable<PreparedDocument['simhash']>): SimHashProbe {
    return { partition: this.simhashPartition(profile), signature: bits, own: bits }
  }
}

/** A document that has changed is no duplicate of what it was. */
export function isOther(
  self: Buffer | undefined,
): (found: { readonly payload: Buffer }) => boolean {
  return ({ payload }) => self === undefined || !payload.equals(self)
}

/** Evidence goes with its representative: what has none left is none. */
function evidenceReader(evidence: EvidenceReader, canonicalise: Canonicalise) {
  return function* ({
    probe,
    id,
    row,
  }: Candidate<NearProbe, Buffer>): Transaction<Measured | undefined> {
    const bytes = yield* evidence.read(probe.partition, id, row.payload)
    return bytes && Measured.ofEvidence(bytes, canonicalise, probe.profile)
  }
}
