/**
 * Whether a directory of outputs is what its state says: `kept/` holds the documents that the ledger calls accepted,
 * byte for byte as they were in their inputs, and every other one has a line with a reason in the records of a run.
 * Nothing of the code that writes outputs is used here but the rows.
 */

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { expect } from 'vitest'

import type { Backend } from '../src/backends/contract.ts'
import { openLmdb } from '../src/backends/lmdb/backend.ts'
import { batches, decodeEntries, dedupeSpaces, documents, states } from '../src/dedupe/rows.ts'
import { listRuns } from '../src/dedupe/runs.ts'
import { type Doc, linesOf } from './corpus-kit.ts'

/** Records as they were in the inputs, by the id and the text of their documents. */
export class Originals {
  readonly #lines = new Map<string, string>()

  /** Adds documents, as lines of JSON if nothing else is said. */
  add(docs: readonly Doc[], lineOf: (doc: Doc) => string = (doc) => JSON.stringify(doc)): void {
    for (const doc of docs) this.#lines.set(nameOf(doc.id, digestOf(doc.text)), lineOf(doc))
  }

  get(id: string, digest: Uint8Array): string {
    const line = this.#lines.get(nameOf(id, Buffer.from(digest).toString('hex')))
    return line ?? `no original of ${id}`
  }
}

function nameOf(id: string, digest: string): string {
  return JSON.stringify([id, digest])
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

export function keptFiles(out: string): string[] {
  const kept = join(out, 'kept')
  if (!existsSync(kept)) return []
  return readdirSync(kept, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(kept, name)).isFile())
    .toSorted()
}

/** All records of `kept/`: by default, lines. */
export function keptLines(out: string): string[] {
  return keptFiles(out).flatMap((name) =>
    readFileSync(join(out, 'kept', name), 'utf8')
      .split('\n')
      .filter(Boolean),
  )
}

export async function checkState(
  state: string,
  out: string,
  originals: Originals,
  read: (out: string) => string[] | Promise<string[]> = keptLines,
): Promise<void> {
  const backend = await openLmdb(state, { spaces: dedupeSpaces, durability: 'os' })
  try {
    await checkOutputs(backend, out, originals, read)
  } finally {
    await backend.close()
  }
}

export async function checkOutputs(
  backend: Backend,
  out: string,
  originals: Originals,
  read: (out: string) => string[] | Promise<string[]> = keptLines,
): Promise<void> {
  const runs = (await listRuns(backend)).filter((run) => run.out === resolve(out))
  const finished = new Set(runs.filter(({ status }) => status === 'finished').map(({ id }) => id))
  expect(runs.every(({ id, status }) => finished.has(id) || status === 'undone')).toBe(true)
  const accepted: string[] = []
  const others: string[] = []
  for await (const { value: row } of backend.scan(documents)) {
    if (!finished.has(row.run)) continue
    const isAccepted = row.action === 'keep' || row.action === 'link'
    if (isAccepted) accepted.push(originals.get(row.id, row.digest))
    else others.push(row.id)
  }
  expect((await read(out)).toSorted()).toEqual(accepted.toSorted())
  const explained = new Set(reasonsIn(out).map(({ id }) => id))
  expect(others.filter((id) => !explained.has(id))).toEqual([])
  await checkNothingLeft(backend, out)
}

// oxlint-disable-next-line no-explicit-any -- tests look at whatever was written
function reasonsIn(out: string): any[] {
  const runs = join(out, 'runs')
  const names = existsSync(runs) ? readdirSync(runs) : []
  return names.flatMap((run) =>
    ['duplicates.jsonl', 'superseded.jsonl'].flatMap((name) => {
      const path = join(runs, run, name)
      return existsSync(path) ? linesOf(path) : []
    }),
  )
}

/** Nothing written aside, and no note of what is still to be done. */
async function checkNothingLeft(backend: Backend, out: string): Promise<void> {
  const names = existsSync(out)
    ? readdirSync(out, { recursive: true, encoding: 'utf8' }).filter(
        (name) => !name.startsWith('state'),
      )
    : []
  expect(names.filter((name) => /\.staged|\.tmp-/.test(name))).toEqual([])
  const rows: string[] = []
  for await (const { key } of backend.scan(states)) rows.push(key.toString())
  expect(rows.filter((name) => /^(?:touched|output-swap)\//.test(name))).toEqual([])
  for await (const { value } of backend.scan(batches)) decodeEntries(value)
}
