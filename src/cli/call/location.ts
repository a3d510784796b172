/** What follows from a location as it was typed. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { isDirectory } from '../../platform/location.ts'

const DATA_FILE = 'data.mdb'

/** A run of dedupe keeps its state below its outputs: whoever names these means the state. */
export function stateWithin(location: string): string {
  if (!isDirectory(location) || existsSync(join(location, DATA_FILE))) return location
  const state = join(location, 'state')
  return existsSync(join(state, DATA_FILE)) ? state : location
}

/** A directory that has no data, or is not there. Of a server that cannot be said without asking it. */
export function isWithoutData(location: string): boolean {
  return isDirectory(location) && !existsSync(join(location, DATA_FILE))
}

/** What is meant of durability where nothing is said: a server has its own. */
export function unsaidDurability<D>(location: string, durability: D): D | undefined {
  return isDirectory(location) ? durability : undefined
}
