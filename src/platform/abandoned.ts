/**
 * Removes temporary files that a process which was killed has left behind. Only names that prestige makes, only of the
 * same user, and only what nobody has written to for a day: process ids mean nothing to other containers, so whoever
 * holds something for longer without writing to it touches it.
 */

import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const DAY_MS = 24 * 60 * 60 * 1000

/** Never fails: what cannot be removed is left to the next one. `isDead`: what need not wait for a day. */
export async function removeAbandoned(
  directory: string,
  isOurs: (name: string) => boolean,
  isDead: (name: string) => boolean = () => false,
): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  for (const name of names) {
    if (!isOurs(name)) continue
    const path = join(directory, name)
    const found = await lstat(path).catch(() => undefined)
    const isOwn = found?.uid === (process.getuid?.() ?? found?.uid)
    if (!found || !isOwn) continue
    if (!isDead(name) && Date.now() - found.mtimeMs < DAY_MS) continue
    await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }
}
