/** The state of corpus jobs as archives, verification and listing see it. */

import { type Bytes, concat, EMPTY, equalBytes } from '../platform/bytes.ts'
import { type Backend, cell, type Cell, glance, read, type Transaction } from '../backends/index.ts'
import { documentTallyChecks, runCell } from '../ledger/index.ts'
import {
  containmentPartition,
  ContainmentScheme,
  type PortableIndex,
  portableIndex,
  type Representative,
  requireJournal,
  TextScheme,
  type TextNearSettings,
} from '../match/index.ts'
import { type Centre, decodeCentre } from './decision/centre-row.ts'
import { meaningLayout, simhashScheme } from './decision/engine.ts'
import { PackRow } from './decision/pack-row.ts'
import { keyIn, pointerIn } from './decision/packs.ts'
import { DIGEST_BYTES } from './decision/prepare.ts'
import { fromHex } from './names.ts'
import {
  chunks,
  type ClusterRow,
  clusters,
  containment,
  dedupeSpaces,
  type DocumentRow,
  documents,
  evidences,
  forms,
  meanings,
  members,
  near,
  packs,
  simhash,
} from './rows.ts'
import { listRuns } from './runs.ts'
import { lastConfig } from './state.ts'
import { SETTINGS } from './state-settings.ts'

const KEY = 16
/** Of fingerprints of containment. */
const PARTITION = containmentPartition('dedupe')
const CANDIDATES_MAX = 100
const BUCKET_MAX = 1000

async function indexesOf(backend: Backend, stored: object): Promise<PortableIndex[]> {
  const { candidatesMax = CANDIDATES_MAX, bucketMax = BUCKET_MAX } =
    (await lastConfig(backend))?.near ?? {}
  const options = { serial: backend.serial, candidatesMax, bucketMax }
  const indexes = [
    portableIndex(simhash, simhashScheme(), options),
    portableIndex(meanings, meaningLayout(), options),
  ]
  // safe: only keepSettings writes the settings of a state, and their format was checked
  const settings = Reflect.get(stored, 'near') as TextNearSettings | false
  if (settings) indexes.push(portableIndex(near, new TextScheme(settings.slots, settings), options))
  if (Reflect.get(stored, 'containment')) {
    requireJournal(backend.serial)
    indexes.push(portableIndex(containment, new ContainmentScheme(), options))
  }
  return indexes
}

async function countsOf(backend: Backend): Promise<{ documents: number; runs: number }> {
  let known = 0
  for await (const _row of backend.scan(documents)) known++
  return { documents: known, runs: (await listRuns(backend)).length }
}

function* areThere(...cells: readonly Cell<unknown>[]): Transaction<boolean> {
  return !(yield* read(...cells)).includes(undefined)
}

const documentAt = (key: Bytes) => cell(documents, key)

function* checkDocument(key: Buffer, row: DocumentRow): Transaction<string | undefined> {
  if (!(yield* areThere(runCell(row.run)))) return `its run ${JSON.stringify(row.run)} is missing`
  const { supersededBy, cluster, centre } = row
  if (supersededBy !== undefined && !(yield* areThere(documentAt(fromHex(supersededBy)))))
    return 'what superseded it is missing'
  // Of a duplicate whose centre has another text by now, the centre may be gone as well.
  if (cluster !== undefined && row.centreDigest === undefined) {
    if (!(yield* areThere(documentAt(fromHex(cluster)))))
      return 'what it is a duplicate of is missing'
  }
  return centre && (yield* checkCentre(key, centre))
}

/** Its fingerprints are in the indexes, as its own. */
function* checkCentre(key: Buffer, bytes: Bytes): Transaction<string | undefined> {
  const centre = decodeCentre(bytes)
  const places = [
    [near, centre.near],
    [simhash, centre.simhash],
    [meanings, centre.semantic],
  ] as const
  if (centre.isContainable && !(yield* isContainable(key, centre.near))) {
    return 'its fingerprints are missing from the index of containment'
  }
  for (const [spaces, place] of places) {
    if (!place) continue
    const [row] = yield* read(cell(spaces.representatives, concat(place[0], place[1])))
    if (!row || !equalBytes(keyIn(row.payload), key))
      return 'its fingerprints are missing from an index'
    if (spaces !== simhash && !(yield* hasEvidence(place, row))) return 'its evidence is missing'
  }
  if (!(yield* areThere(cell(forms, centre.form)))) return 'its canonical form is missing'
  // Only glanced at: they may be more than a transaction can rely on.
  const passages = yield* glance(...(centre.chunks ?? []).map((hash) => cell(chunks, hash)))
  return passages.includes(undefined) ? 'a passage of it is missing' : undefined
}

function* hasEvidence(
  [partition, id]: readonly [Buffer, Buffer],
  { payload }: Representative,
): Transaction<boolean> {
  const pointer = pointerIn(payload)
  if (!pointer) return yield* areThere(cell(evidences, concat(partition, id)))
  const [row] = yield* glance(cell(packs, pointer.key))
  const text = row && new PackRow(row).part(pointer.at)
  return text !== undefined && text.byteLength > 0
}

function* isContainable(key: Buffer, place: Centre['near']): Transaction<boolean> {
  const row = place?.[1] ?? EMPTY
  const [found] = yield* read(cell(containment.representatives, concat(PARTITION, row)))
  return found !== undefined && equalBytes(found.payload.subarray(0, KEY), key)
}

function* checkContainable(_key: Buffer, row: Representative): Transaction<string | undefined> {
  const isThere = yield* areThere(documentAt(row.payload.subarray(0, KEY)))
  return isThere ? undefined : 'its document is missing'
}

function* checkRepresentative(_key: Buffer, row: Representative): Transaction<string | undefined> {
  return (yield* areThere(documentAt(keyIn(row.payload)))) ? undefined : 'its document is missing'
}

function* checkForm(_key: Buffer, row: Bytes): Transaction<string | undefined> {
  const isThere = yield* areThere(documentAt(row.subarray(DIGEST_BYTES)))
  return isThere ? undefined : 'its document is missing'
}

function* checkChunk(_key: Buffer, row: Bytes): Transaction<string | undefined> {
  return (yield* areThere(documentAt(row))) ? undefined : 'its document is missing'
}

function* checkCluster(key: Buffer, { survivor }: ClusterRow): Transaction<string | undefined> {
  const isThere = yield* areThere(documentAt(key), documentAt(fromHex(survivor)))
  return isThere ? undefined : 'its centre or its survivor is missing'
}

function* checkMember(key: Buffer, _run: Bytes): Transaction<string | undefined> {
  return (yield* areThere(documentAt(key.subarray(KEY)))) ? undefined : 'its document is missing'
}

export const storedState = {
  kind: 'state',
  spaces: dedupeSpaces,
  settings: SETTINGS,
  keptSettings: (value: object): object => value,
  indexes: indexesOf,
  counts: countsOf,
  checks: [
    { space: documents, check: checkDocument },
    { space: near.representatives, check: checkRepresentative },
    { space: simhash.representatives, check: checkRepresentative },
    { space: meanings.representatives, check: checkRepresentative },
    { space: containment.representatives, check: checkContainable },
    { space: forms, check: checkForm },
    { space: chunks, check: checkChunk },
    { space: clusters, check: checkCluster },
    { space: members, check: checkMember },
  ],
  tallyChecks: documentTallyChecks,
} as const
