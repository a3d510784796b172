/** Fingerprints as archives, verification and listing see them. */

import { asBuffer, type Bytes, equalBytes } from '../platform/bytes.ts'
import { type Backend, cell, read, type Transaction } from '../backends/index.ts'
import { type PortableIndex, portableIndex, type Representative } from '../match/index.ts'
import { indexLimits } from './fingerprints.ts'
import { documentKey } from './prepare.ts'
import { hashesIn } from './remove.ts'
import {
  byTime,
  chunkLists,
  DOCUMENTS,
  type FingerprintRow,
  fingerprints,
  fingerprintSpaces,
  fingerprintTallies,
  gone,
  hashes,
  type Holders,
  ID,
  ids,
  minhashNear,
  simhashNear,
  timeKey,
} from './rows.ts'
import { minhashScheme, simhashScheme } from './search.ts'
import { type FingerprintsSettings, SETTINGS } from './settings.ts'

const TIME = 6

function* checkRow(key: Buffer, row: FingerprintRow): Transaction<string | undefined> {
  const { id, at, form, minhash, simhash, isWhole, isGone } = row
  if (isGone) return (yield* read(cell(gone, key)))[0] ? undefined : 'it is gone without a note'
  const [own, time] = yield* read(cell(ids, documentKey(id)), cell(byTime, timeKey(at, key)))
  if (!own || !equalBytes(own, key)) return 'its id leads to another row'
  if (!time) return 'it is not listed under its time'
  if (!isWhole) return `its chunks are not all there: add ${JSON.stringify(id)} again`
  for (const [space, partition] of [
    [minhashNear, minhash],
    [simhashNear, simhash],
  ] as const) {
    if (!partition) continue
    const place = Buffer.concat([partition, key])
    const [found] = yield* read(cell(space.representatives, place))
    if (!found) return 'it is missing from an index'
  }
  const [holders] = form ? yield* read(cell(hashes, form)) : []
  return form && !holds(holders, key) ? 'its canonical form does not lead to it' : undefined
}

function holds(holders: Holders | undefined, row: Buffer): boolean {
  return holders?.isCommon === true || (holders?.rows.some((one) => equalBytes(one, row)) ?? false)
}

function* checkId(_key: Buffer, row: Bytes): Transaction<string | undefined> {
  const [found] = yield* read(cell(fingerprints, row))
  return found && !found.isGone ? undefined : 'its fingerprints are missing'
}

function* checkHolders(_key: Buffer, { rows }: Holders): Transaction<string | undefined> {
  const found = yield* read(...rows.map((row) => cell(fingerprints, row)))
  return found.includes(undefined) ? 'it names fingerprints that are missing' : undefined
}

function* checkList(key: Buffer, list: Bytes): Transaction<string | undefined> {
  const row = key.subarray(0, ID)
  const [document] = yield* read(cell(fingerprints, row))
  if (!document) return 'its document is missing'
  if (document.isGone) return undefined
  const wanted = hashesIn(list)
  const found = yield* read(...wanted.map((hash) => cell(hashes, hash)))
  return found.every((holders) => holds(holders, row)) ? undefined : 'a chunk does not lead to it'
}

function* checkTime(key: Buffer, _present: Bytes): Transaction<string | undefined> {
  const [found] = yield* read(cell(fingerprints, key.subarray(TIME)))
  return found && !found.isGone && found.at === key.readUIntBE(0, TIME)
    ? undefined
    : 'there are no fingerprints of this time'
}

function* checkRepresentative(key: Buffer, _row: Representative): Transaction<string | undefined> {
  const [found] = yield* read(cell(fingerprints, key.subarray(ID)))
  return found ? undefined : 'its document is missing'
}

async function countsOf(backend: Backend): Promise<{ documents: number }> {
  const [documents = 0] = await backend.read(function* () {
    return yield* read(cell(fingerprintTallies, DOCUMENTS))
  })
  return { documents }
}

async function indexesOf(backend: Backend, stored: object): Promise<PortableIndex[]> {
  const settings = stored as FingerprintsSettings // safe: openers write nothing else, and format was checked
  const limits = indexLimits(backend.serial)
  return [
    portableIndex(minhashNear, minhashScheme(settings), limits),
    portableIndex(simhashNear, simhashScheme(), limits),
  ]
}

export const storedFingerprints = {
  kind: 'fingerprints',
  spaces: fingerprintSpaces,
  settings: SETTINGS,
  keptSettings: (value: object): string => JSON.stringify(value),
  indexes: indexesOf,
  counts: countsOf,
  checks: [
    { space: fingerprints, check: checkRow },
    { space: ids, check: checkId },
    { space: hashes, check: checkHolders },
    { space: chunkLists, check: checkList },
    { space: byTime, check: checkTime },
    { space: minhashNear.representatives, check: checkRepresentative },
    { space: simhashNear.representatives, check: checkRepresentative },
  ],
  tallyChecks: [
    {
      space: ids,
      tallies: fingerprintTallies,
      counts: () => [[DOCUMENTS, 1]] as const,
      owns: (tally: Buffer) => asBuffer(tally).equals(DOCUMENTS),
    },
  ],
} as const
