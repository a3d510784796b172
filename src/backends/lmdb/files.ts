/** The files of an LMDB directory: where they are, whether they are LMDB's at all, and bringing them to the disk. */

import { existsSync, fdatasync, realpathSync, statSync } from 'node:fs'
import { mkdir, open as openFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { PrestigeError } from '../../errors.ts'
import { engineError } from './errors.ts'

export function dataFile(directory: string): string {
  return join(directory, 'data.mdb')
}

/** Tells one file from another that took its place. */
export function identityOf(directory: string): string {
  const found = statSync(dataFile(directory), { throwIfNoEntry: false })
  return found ? `${found.dev}:${found.ino}` : 'missing'
}

export async function directoryOf(path: string, create: boolean): Promise<string> {
  if (!create && !existsSync(dataFile(path))) {
    throw new PrestigeError(
      'STORE_NOT_FOUND',
      `There is no store at ${path}. Check the location, or put something there first.`,
    )
  }
  try {
    await mkdir(path, { recursive: true })
    return realpathSync(path)
  } catch (error) {
    throw new PrestigeError(
      'INVALID_LOCATION',
      `${path} cannot be used as a store directory: ${String(error)}`,
      { cause: error },
    )
  }
}

/** Where LMDB 0.9's first page says what it is, on machines of 64 bits. */
const MAGIC_AT = 24
const MAGIC = [0xbeef_c0de, 2] as const

/** lmdb takes the whole process down when a file is none of its own, so its beginning is looked at first. */
export async function refuseForeignFile(path: string): Promise<void> {
  if (!existsSync(path)) return
  const file = await openFile(path, 'r')
  try {
    const head = new Uint32Array(2) // in the byte order of this machine, as LMDB writes it
    const { size } = await file.stat()
    await file.read(new Uint8Array(head.buffer), 0, head.byteLength, MAGIC_AT)
    if (size === 0 || MAGIC.every((word, at) => head[at] === word)) return
  } finally {
    await file.close()
  }
  throw new PrestigeError(
    'CONTENT_CORRUPT',
    `${path} is damaged, or was not written by LMDB. Check the location, or bring back a copy.`,
  )
}

/** What `os` leaves to the operating system while it runs is brought to the disk when it closes. */
export async function syncFile(file: number): Promise<void> {
  try {
    await promisify(fdatasync)(file)
  } catch (error) {
    throw engineError(error)
  }
}
