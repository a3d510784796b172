/** What a location is by its form: memory, the URL of a server, or else a directory. */

/** `:memory:` is what other databases call it. */
export function isMemory(location: string): boolean {
  return location === 'memory:' || location === ':memory:'
}

export function isDirectory(location: string): boolean {
  return !isMemory(location) && !/^[a-z][a-z0-9+.-]+:/i.test(location)
}
