/**
 * Removes temporary files that a process which was killed has left behind. Only names that prestige makes, only of the
 * same user, and only what nobody has written to for a day: process ids mean nothing to other containers, so whoever
 * holds something for longer without writing to it touches it.
 */

import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const DAY_MS = 24 * 60 * 60 * 1000

/** Never fails: what cannot be removed is left to the next one. */
export async function removeAbandoned(directory: string, isOurs: RegExp): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  for (const name of names) {
    if (!isOurs.test(name)) continue
    const path = join(directory, name)
    const found = await lstat(path).catch(() => undefined)
    const isOwn = found?.uid === (process.getuid?.() ?? found?.uid)
    if (!found || !isOwn || Date.now() - found.mtimeMs < DAY_MS) continue
    await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }
}

/** Matches names that begin with a file's own and end in `ending`, which is a pattern. */
export function besideName(name: string, ending: string): RegExp {
  return new RegExp(`^${name.replaceAll(/[^\w]/gu, String.raw`\$&`)}${ending}$`, 'u')
}
