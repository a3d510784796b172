/**
 * Everything below a directory, in byte order of the names within each directory.
 *
 * Names are bytes, so that those which are not UTF-8 survive. Symbolic links are never followed, and a
 * directory that cannot be read is reported and skipped. One directory's names are held at a time, and
 * those of the directories above it.
 */

import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'

const SLASH = Buffer.from('/')

export interface Place {
  readonly path: Buffer
  /** Below the root, with `/`; empty for the root itself. */
  readonly name: Buffer
}

export type Found =
  | ({ readonly kind: 'file' } & Place)
  | ({ readonly kind: 'skipped'; readonly what: string } & Place)
  | ({ readonly kind: 'failed'; readonly error: unknown } & Place)

/** `left out`: a directory that is not entered, by its real path. */
export async function* walk(root: Buffer, leftOut: Buffer | undefined): AsyncGenerator<Found> {
  const pending: (Place & { what: string })[] = []
  const enter = async (place: Place): Promise<Found | undefined> => {
    try {
      const entries = await readdir(place.path, { withFileTypes: true, encoding: 'buffer' })
      entries.sort((a, b) => Buffer.compare(b.name, a.name))
      for (const entry of entries) pending.push({ ...within(place, entry), what: kindOf(entry) })
      return undefined
    } catch (error) {
      return { kind: 'failed', ...place, error }
    }
  }
  const failure = await enter({ path: root, name: Buffer.alloc(0) })
  if (failure) yield failure
  for (let place = pending.pop(); place; place = pending.pop()) {
    const { path, name, what } = place
    if (what === 'file') yield { kind: 'file', path, name }
    else if (what !== 'directory') yield { kind: 'skipped', path, name, what }
    else if (leftOut?.equals(path)) yield { kind: 'skipped', path, name, what: 'the store itself' }
    else {
      const failed = await enter({ path, name })
      if (failed) yield failed
    }
  }
}

function within({ path, name }: Place, entry: Dirent<Buffer>): Place {
  return {
    path: Buffer.concat([path, SLASH, entry.name]),
    name: name.length === 0 ? entry.name : Buffer.concat([name, SLASH, entry.name]),
  }
}

function kindOf(entry: Dirent<Buffer>): string {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  if (entry.isSymbolicLink()) return 'symbolic link'
  if (entry.isSocket()) return 'socket'
  return entry.isFIFO() ? 'named pipe' : 'device'
}
