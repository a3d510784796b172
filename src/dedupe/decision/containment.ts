/**
 * Documents of which one contains the other, or most of it: a reply with what it quotes, an article with its excerpt.
 *
 * Only documents that others are measured against are found, so whatever is dropped is in one that is kept. Places are
 * bytes of the texts as they were given, in UTF-8.
 */

import { concat } from '../../platform/bytes.ts'
import {
  cell,
  type Codec,
  glance,
  read,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import type { Passage } from '../../compare/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Contained,
  ContainmentIndex,
  type ContainmentProbe,
  originalOf,
  requireJournal,
} from '../../match/index.ts'
import type { RowContainment } from '../../ledger/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { hex, named } from '../names.ts'
import { containment, documents, evidences } from '../rows.ts'
import type { Named } from './decision.ts'
import type { PreparedDocument } from './prepare.ts'

const KEY = 16
const NONE = { enabled: false, min: 1 }

/** The key of the document (16), and the partition where its evidence is (16). */
export interface ContainedPayload {
  readonly key: Buffer
  readonly partition: Buffer
}

const payloads: Codec<ContainedPayload> = {
  encode: ({ key, partition }) => concat(key, partition),
  decode: (bytes) => {
    const row = Buffer.from(bytes)
    return { key: row.subarray(0, KEY), partition: row.subarray(KEY) }
  },
}

/** A document that contains this one, or is contained in it. */
export interface FoundContained {
  readonly of: Named
  readonly key: Buffer
  /** How much of this document is in the other, and of the other in this one. */
  readonly share: number
  readonly shareOfOther: number
  readonly spans: readonly Passage[]
  readonly spansOfOther: readonly Passage[]
}

export type JobContainment = ContainmentIndex<ContainedPayload>

/** Before anything is kept: what it needs is there. */
export function containmentOf(config: DedupeConfig, serial: boolean): JobContainment | undefined {
  // Runs from before there was such a step have no such settings.
  const { enabled, min } = config.containment ?? NONE
  if (!enabled) return undefined
  requireJournal(serial)
  const { near } = config
  if (!near.enabled || (near.evidence ?? 'text') !== 'text') {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      "containment compares texts: it needs near.enabled, and near.evidence 'text'.",
    )
  }
  return new ContainmentIndex(containment, serial, { owner: 'dedupe', min, payloads, readText })
}

function* readText(
  id: Buffer,
  { partition }: ContainedPayload,
): Transaction<Uint8Array | undefined> {
  const [evidence] = yield* read(cell(evidences, concat(partition, id)))
  return evidence && originalOf(evidence)
}

/** `undefined`: it is too short, or too long, to be found. */
export function containmentProbe(
  index: JobContainment,
  { fingerprints, looks }: PreparedDocument,
): ContainmentProbe | undefined {
  const text = looks[0] && originalOf(looks[0].evidence)
  return text && fingerprints && index.probeOf(text, fingerprints)
}

/** Those of which the two share most first. */
export function* findContained(
  index: JobContainment,
  document: PreparedDocument,
  self: Buffer | undefined,
  scope: Scope | undefined,
): Transaction<{ readonly found: readonly FoundContained[]; readonly passedOver: number }> {
  const probe = containmentProbe(index, document)
  const counts = ({ payload }: { readonly payload: ContainedPayload }) =>
    self === undefined || !payload.key.equals(self)
  const searched = yield* index.find(probe, scope, { counts })
  const found: FoundContained[] = []
  for (const one of searched.found) {
    const [row] = yield* glance(cell(documents, one.payload.key))
    if (row) found.push(foundOf(one, named(row)))
  }
  return { found, passedOver: searched.passedOver }
}

function foundOf(one: Contained<ContainedPayload>, of: Named): FoundContained {
  const { share, shareOfOther, passages: spans, passagesOfOther: spansOfOther } = one
  return { of, key: one.payload.key, share, shareOfOther, spans, spansOfOther }
}

/** What of it is in the row of the document. */
export function rowOf({ key, spans, shareOfOther, spansOfOther }: FoundContained): {
  readonly spans: readonly (readonly [start: number, end: number, of: string])[]
  readonly containment: RowContainment
} {
  const other = hex(key)
  return {
    spans: spans.map(({ start, end }) => [start, end, other] as const),
    containment: {
      shareOfOther,
      spansOfOther: spansOfOther.map(({ start, end }) => [start, end] as const),
    },
  }
}
