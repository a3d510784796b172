/** What follows from the form of a location. */

import { isDirectory } from '../platform/location.ts'

/** What is meant of durability where nothing is said: a server has its own. */
export function unsaidDurability<D>(location: string, durability: D): D | undefined {
  return isDirectory(location) ? durability : undefined
}
