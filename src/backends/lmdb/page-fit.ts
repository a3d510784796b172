/**
 * How a value is laid onto pages. LMDB gives a value that does not fit into half a page pages of its own, so that one
 * of 4 KiB, which is a little more than a page holds, would take two. Where little is left over for the last page, that
 * rest goes to a table of its own, whose small rows share pages. Only values that are never overwritten are laid so:
 * whoever overwrites would have to look for an old rest first.
 *
 * A value whose length fills its pages to the last byte may have a rest; all others have none.
 */

const PAGE_HEADER_BYTES = 24
/** Of larger values the last page is a small part. */
const PAGES_MAX = 8

/** The table of the rests of a space. */
export function restsOf(space: string): string {
  return `${space}+rest`
}

/** How many of the bytes come first; the rest is a row of its own. */
export function headBytes(length: number, pageBytes: number): number {
  const pages = Math.ceil((length + PAGE_HEADER_BYTES) / pageBytes)
  if (pages < 2 || pages > PAGES_MAX) return length
  const full = (pages - 1) * pageBytes - PAGE_HEADER_BYTES
  return length - full <= pageBytes / 4 ? full : length
}

export function mayHaveRest(length: number, pageBytes: number): boolean {
  return (length + PAGE_HEADER_BYTES) % pageBytes === 0 && length < PAGES_MAX * pageBytes
}
