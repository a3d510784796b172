/** How much address space to map: far more than is needed, unless the process may not have it. */

import { readFileSync, statSync } from 'node:fs'

/** Address space, not disk: the file grows as it is written. */
const MAP_BYTES_MAX = 2 ** 40
const MAP_BYTES_MIN = 64 * 1024 * 1024
/** Kept free for everything else that the process does. */
const OTHER_BYTES_MIN = 512 * 1024 * 1024

/** As much as `ulimit -v` leaves, and at least the file with room to grow. */
export function mapBytes(dataFile: string): number {
  const free = addressSpaceLeft()
  if (free === undefined) return MAP_BYTES_MAX
  const size = statSync(dataFile, { throwIfNoEntry: false })?.size ?? 0
  const share = Math.max(free / 2, free - OTHER_BYTES_MIN)
  const wanted = Math.max(size + MAP_BYTES_MIN, Math.min(share, MAP_BYTES_MAX))
  return Math.floor(wanted / MAP_BYTES_MIN) * MAP_BYTES_MIN
}

/** `undefined`: without a limit, or on a system that does not say. */
function addressSpaceLeft(): number | undefined {
  try {
    const limit = /^Max address space\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
    const used = /^VmSize:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))
    if (limit?.[1] === undefined || used?.[1] === undefined) return undefined
    return Math.max(0, Number(limit[1]) - Number(used[1]) * 1024)
  } catch {
    return undefined // no /proc: macOS and Windows
  }
}
