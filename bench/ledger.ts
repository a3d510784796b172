/**
 * What does the ledger cost a document, against plain lmdb writing the rows it leaves?
 *
 * The rows of the reference are those the ledger writes, in three tables as there: the line (of the bytes a line has),
 * one byte under the source, one under the run. It neither reads nor counts. For claim and commit it writes the line
 * twice.
 */

import { hash } from 'node:crypto'

import { openLedger } from 'prestige-dedup'

import type { Bench, Case, Place, Sample } from './harness/bench.ts'
import { hashedKeys, scaled } from './harness/data.ts'
import { diskBytes, inFlight, measure, nextTurn } from './harness/measure.ts'
import { openRaw } from './harness/raw.ts'

const FLIGHT = 256
const BATCH = 100
const WARM = 10_000
const RUN = 'run'
const SOURCE = 'source'

type Way = 'record' | 'claim and commit'

function idsOf(count: number, family: string): string[] {
  return hashedKeys(count, family).map(String)
}

async function ours(way: Way, { directory, scale, profile }: Place): Promise<Sample> {
  const ledger = await openLedger(directory, { durability: 'os' })
  await ledger.startRun({ id: RUN })
  const options = { leaseMs: 60_000, source: SOURCE, run: RUN }
  const one = async (id: string) => {
    if (way === 'record') {
      await ledger.record([{ id, status: 'accepted', source: SOURCE, run: RUN }])
      return
    }
    const claim = await ledger.claim(id, options)
    if (!claim.ok) throw new Error('A document was claimed twice.')
    await ledger.commit(claim, { status: 'accepted' })
  }
  const all = (ids: readonly string[]) => inFlight(FLIGHT, ids.length, (at) => one(ids[at]!))
  await all(idsOf(WARM, 'warm'))
  const ids = idsOf(scaled(100_000, scale), 'document')
  const place = { directory, scale, profile }
  const sample = await measure({ ops: ids.length, place }, () => all(ids))
  await ledger.close()
  return { ...sample, diskBytes: await diskBytes(directory) }
}

async function reference(way: Way, { directory, scale, profile }: Place): Promise<Sample> {
  const root = openRaw(directory, 'os')
  const table = (name: string) =>
    root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' })
  const [lines, bySource, byRun] = [table('lines'), table('bySource'), table('byRun')]
  const keyOf = (text: string) => Buffer.from(hash('sha256', text, 'hex'), 'hex').subarray(0, 16)
  const [source, run, present] = [keyOf(SOURCE), keyOf(RUN), Buffer.of(0x10)]
  const lineOf = (id: string) => Buffer.alloc(16 + id.length + 7 + 4, id)
  const all = async (ids: readonly string[]) => {
    for (let from = 0; from < ids.length; from += BATCH) {
      root.transactionSync(() => {
        for (const id of ids.slice(from, from + BATCH)) {
          const key = keyOf(id)
          lines.putSync(key, lineOf(id))
          bySource.putSync(Buffer.concat([source, key]), present)
          byRun.putSync(Buffer.concat([run, key]), present)
        }
      })
      if (way === 'claim and commit') {
        root.transactionSync(() => {
          for (const id of ids.slice(from, from + BATCH)) lines.putSync(keyOf(id), lineOf(id))
        })
      }
      await nextTurn()
    }
  }
  await all(idsOf(WARM, 'warm'))
  const ids = idsOf(scaled(100_000, scale), 'document')
  const place = { directory, scale, profile }
  const sample = await measure({ ops: ids.length, place }, () => all(ids))
  await root.close()
  return { ...sample, diskBytes: await diskBytes(directory) }
}

function caseOf(way: Way): Case {
  return {
    name: `${way}, ${FLIGHT} in flight, os`,
    ours: { run: (place) => ours(way, place) },
    reference: {
      name: 'lmdb, the same rows, batches of 100',
      run: (place) => reference(way, place),
    },
  }
}

export const bench: Bench = {
  name: 'ledger',
  question: 'What does the ledger cost a document, against plain lmdb writing the same rows?',
  cases: [caseOf('record'), caseOf('claim and commit')],
}
