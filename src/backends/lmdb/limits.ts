/** The limits of an LMDB directory, whoever reads it. */

/** How long to wait for other processes where nothing is said. */
export const TIMEOUT_MS = 30_000
export const LMDB_KEY_BYTES_MAX = 1978
export const VALUE_BYTES_MAX = 4 * 1024 * 1024
export const CELLS_MAX = 100_000
export const SCAN_PAGE = 256
/** A page ends early when its values are large, so that a scan never holds much of a space. */
export const SCAN_PAGE_BYTES = 4 * 1024 * 1024
