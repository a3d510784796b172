/**
 * Whether a directory can be made. `mkdir` with `recursive` never returns where the file system refuses new names with
 * ENOENT, as /proc does, so the nearest directory above is asked first, with a name that is removed again.
 */

import { mkdtemp, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

import { PrestigeError } from './errors.ts'

/** Throws what the operating system says. */
export async function requireMakeable(directory: string): Promise<void> {
  let path = resolve(directory)
  if (await isThere(path)) return
  while (!(await isThere(dirname(path)))) path = dirname(path)
  const probe = await mkdtemp(join(dirname(path), '.prestige-probe-')).catch((error: unknown) => {
    if (Reflect.get(Object(error), 'code') !== 'ENOENT') throw error
    const message = `${directory} cannot be made: nothing can be created in ${dirname(path)}. Name another directory.`
    throw new PrestigeError('OUTPUT_FAILED', message, { cause: error })
  })
  await rmdir(probe)
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (dirname(path) !== path && Reflect.get(Object(error), 'code') === 'ENOENT') return false
    throw error
  }
}
