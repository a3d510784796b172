/** Writes a file aside, then moves it into place: whoever looks sees the old one or the new one, whole. */

import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

import { besideName, removeAbandoned } from '../platform/abandoned.ts'
import { fileFailure } from './failure.ts'

export async function writeWhole(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomUUID()}.part`
  await removeAbandoned(
    dirname(path),
    besideName(basename(path), String.raw`\.[0-9a-f-]{36}\.part`),
  )
  try {
    await writeAside(aside, text)
    await rename(aside, path)
  } catch (error) {
    await rm(aside, { force: true })
    throw fileFailure(path, error)
  }
}

async function writeAside(aside: string, text: string): Promise<void> {
  const file = await open(aside, 'wx')
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}
