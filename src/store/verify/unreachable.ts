/** Rows that a scan finds and a lookup does not, because a page above them leads elsewhere. */

import type { Bytes } from '../../bytes.ts'
import type { Space } from '../../backends/contract.ts'
import { rowName, type Walk } from './walk.ts'

/** Each takes a scan, and one is enough to know. */
const EXAMINED_MAX = 100

/**
 * The row was scanned, and a lookup did not find it. Somebody may have removed it in between, so it is scanned once
 * more: from the beginning, because a scan that begins at its key takes the way of a lookup.
 */
export async function examineUnreachable(
  walk: Walk,
  space: Space<Bytes>,
  key: Buffer,
): Promise<void> {
  const known = walk.findings.problems.filter(({ kind }) => kind === 'row-unreachable')
  if (known.length >= EXAMINED_MAX || !(await isListed(walk, space, key))) return
  if (await walk.look(space, key)) return
  const message = `${rowName(space, key)} is in the file, and a lookup does not find it: the way to its page is damaged. Copy the store with prestige verify --salvage DIRECTORY.`
  await walk.found('row-unreachable', message, space.name === 'entries' ? [key] : [])
}

async function isListed(walk: Walk, space: Space<Bytes>, wanted: Buffer): Promise<boolean> {
  for await (const { key } of walk.backend.scan(space)) {
    const order = key.compare(wanted)
    if (order === 0) return true
    if (order > 0) return false
  }
  return false
}
