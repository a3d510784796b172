/** Rows that a scan finds and a lookup does not, because a page above them leads elsewhere. */

import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import type { Space } from '../../backends/index.ts'
import { rowName, type Walk } from './walk.ts'

/** Each takes a scan, and one is enough to know. */
const EXAMINED_MAX = 100

/** How often the row must be there, the same, and not be found. */
const ROUNDS = 3

/**
 * The row was scanned, and a lookup did not find it. Somebody may have removed it in between, or put it again, so both
 * are repeated: scans from the beginning, because one that begins at its key takes the way of a lookup.
 */
export async function examineUnreachable(
  walk: Walk,
  space: Space<Bytes>,
  key: Buffer,
): Promise<void> {
  const known = walk.findings.problems.filter(({ kind }) => kind === 'row-unreachable')
  if (known.length >= EXAMINED_MAX) return
  let before: Bytes | undefined
  for (let round = 0; round < ROUNDS; round++) {
    const scanned = await scannedRow(walk, space, key)
    if (!scanned || (before && !equalBytes(before, scanned))) return
    if (await walk.look(space, key)) return
    before = scanned
  }
  walk.halt()
  const message = `${rowName(space, key)} is in the file, and a lookup does not find it: the way to its page is damaged. Copy the store with prestige verify --salvage DIRECTORY.`
  await walk.found('row-unreachable', message, space.name === 'entries' ? [key] : [])
}

async function scannedRow(
  walk: Walk,
  space: Space<Bytes>,
  wanted: Buffer,
): Promise<Bytes | undefined> {
  for await (const { key, value } of walk.backend.scan(space)) {
    const order = key.compare(wanted)
    if (order === 0) return value
    if (order > 0) return undefined
  }
  return undefined
}
