/** What a location says by its looks: a directory of one's own, or somewhere else that keeps things its own way. */

/** Not `memory:`, and not the URL of a server. */
export function isDirectory(location: string): boolean {
  return !/^[a-z][a-z0-9+.-]+:/i.test(location)
}

/** What is meant of durability where nothing is said: a server has its own. */
export function unsaidDurability<D>(location: string, durability: D): D | undefined {
  return isDirectory(location) ? durability : undefined
}
