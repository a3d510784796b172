/**
 * Documents that a run leaves without a kept copy: the text that they were dropped for has changed. Their files count as
 * not processed from then on, so that the next run that is given them re-evaluates these documents.
 */

import { endOfPrefix } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Transaction } from '../../backends/index.ts'
import { countOf } from '../../platform/units.ts'
import { isLeftBehind } from '../decision/cluster.ts'
import { reopenFiles } from '../done-files.ts'
import { hex } from '../names.ts'
import { filesOf } from '../output/superseded.ts'
import { type DocumentRow, documents, members } from '../rows.ts'

/** No more of its row: there may be many. */
interface Orphan {
  readonly key: string
  readonly row: Pick<DocumentRow, 'id' | 'run'>
}

const NAMES_SHOWN = 3

/** `centres`: documents of the run whose former text others were dropped for. Returns what to say about those. */
export async function reopenOrphans(
  backend: Backend,
  centres: readonly Buffer[],
): Promise<string[]> {
  const orphans: Orphan[] = []
  for (const centre of centres) orphans.push(...(await orphansOf(backend, centre)))
  if (orphans.length === 0) return []
  const fileOf = await filesOf(backend, orphans)
  const files = new Map([...fileOf.values()].map((file) => [file.file, file]))
  await reopenFiles(backend, [...files.values()])
  const names = orphans.map(({ key, row }) => {
    const path = fileOf.get(key)?.path
    return `"${row.id}"${path === undefined || path === row.id ? '' : ` (${path})`}`
  })
  const paths = [...files.values()].map(({ path }) => path)
  const many = countOf(orphans.length, 'document')
  const what = `No copy is kept any more of ${many}, dropped earlier for a text that has changed now: ${listed(names)}.`
  const next =
    paths.length === 0
      ? 'Submit them again to re-evaluate them.'
      : `Run dedupe with the same inputs again: ${listed(paths)} will be read again, although unchanged, and re-evaluated.`
  return [`${what} ${next}`]
}

function listed(names: readonly string[]): string {
  const more = names.length - NAMES_SHOWN
  const shown = names.slice(0, NAMES_SHOWN).join(', ')
  return more > 0 ? `${shown} and ${more} more` : shown
}

async function orphansOf(backend: Backend, centre: Buffer): Promise<Orphan[]> {
  const found: Orphan[] = []
  const range = { start: centre, end: endOfPrefix(centre) }
  for await (const { key } of backend.scan(members, range)) {
    const member = key.subarray(centre.byteLength)
    const row = await backend.read(orphanAt, centre, member)
    if (row) found.push({ key: hex(member), row: { id: row.id, run: row.run } })
  }
  return found
}

function* orphanAt(
  _scope: unknown,
  centre: Buffer,
  key: Buffer,
): Transaction<DocumentRow | undefined> {
  const [centreRow, row] = yield* read(cell(documents, centre), cell(documents, key))
  if (!row || row.cluster !== hex(centre) || !isLeftBehind(row, centreRow)) return undefined
  return row.action === 'drop' || row.action === 'superseded' ? row : undefined
}
