/** Scans page by page: what engines whose rows can be listed from a key on need not write themselves. */

import { type Bytes, concat } from '../../platform/bytes.ts'
import type { Range } from '../contract.ts'

const AFTER = Buffer.of(0)

/** A row as an engine keeps it. Both are the caller's own. */
export interface RawRow {
  readonly key: Buffer
  readonly bytes: Bytes
}

/** Half open, as `Range`; at most `limit` rows, which may be Infinity. */
export type PageRange = Range & { readonly limit: number }

/** The next rows of a range, all from one moment. */
export interface Page {
  readonly rows: readonly RawRow[]
  /** No row of the range follows. A page that is not the last one has at least one row. */
  readonly isLast: boolean
}

/** The rows of a range, page after page. `load` decides how many are in a page. */
export async function* pagesOf(
  { start, end, limit = Infinity }: Range,
  load: (range: PageRange) => Page | Promise<Page>,
): AsyncGenerator<RawRow> {
  let from = start
  for (let left = limit; left > 0;) {
    const { rows, isLast } = await load({ start: from, end, limit: left })
    // Before the rows are given away: whoever gets them may write over their keys.
    const last = rows.at(-1)
    if (last) from = concat(last.key, AFTER)
    yield* rows
    if (isLast) return
    left -= rows.length
  }
}
