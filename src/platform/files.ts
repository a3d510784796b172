/**
 * Files of a directory that may be on S3: the functions of `node:fs/promises` that outputs need, for `s3://` paths too.
 *
 * On S3 there are no directories: one is there as long as something is below it. What is not there is ENOENT, as it is
 * of local files; all other failures of S3 are PrestigeErrors. Files are written by atomic-file.ts, for both.
 */

import type { Stats } from 'node:fs'
import * as local from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'

import { copyWhole } from './atomic-file.ts'
import { codeOf, PrestigeError } from './errors.ts'
import { dirname, join } from './paths.ts'
import { isS3 } from './s3/address.ts'

export type FileStats = Pick<
  Stats,
  'isFile' | 'isDirectory' | 'isSymbolicLink' | 'size' | 'mtimeMs'
>

/** Loaded with the first path on S3. */
const objects = () => import('./s3/objects.ts')

export function readFile(path: string): Promise<Buffer>
export function readFile(path: string, encoding: 'utf8'): Promise<string>
export async function readFile(path: string, encoding?: 'utf8'): Promise<Buffer | string> {
  if (!isS3(path)) return local.readFile(path, encoding)
  const parts: Buffer[] = []
  for await (const part of await streamOf(path)) parts.push(part)
  const whole = Buffer.concat(parts)
  return encoding ? whole.toString(encoding) : whole
}

export async function* readLines(path: string): AsyncGenerator<string> {
  if (isS3(path)) {
    yield* createInterface({ input: Readable.from(await streamOf(path)), crlfDelay: Infinity })
    return
  }
  const handle = await local.open(path)
  try {
    for await (const line of handle.readLines()) yield line
  } finally {
    await handle.close().catch(() => undefined) // closed already is what is wanted
  }
}

/** Follows links. */
export async function stat(path: string): Promise<FileStats> {
  return isS3(path) ? statsOf(path) : local.stat(path)
}

export async function lstat(path: string): Promise<FileStats> {
  return isS3(path) ? statsOf(path) : local.lstat(path)
}

/** Names in a directory; with `recursive`, of everything below it. */
export async function readdir(
  path: string,
  options: { readonly recursive?: boolean } = {},
): Promise<string[]> {
  if (!isS3(path)) return local.readdir(path, { ...options, encoding: 'utf8' })
  const { listObjects, listNames } = await objects()
  const prefix = `${path.replace(/\/+$/, '')}/`
  const names: string[] = []
  if (options.recursive !== true) {
    for await (const name of listNames(prefix)) names.push(name)
  } else for await (const one of listObjects(prefix)) names.push(one.path.slice(prefix.length))
  if (names.length === 0) throw missing(path)
  return names
}

/** With `recursive`, what is below it too. */
export async function rm(
  path: string,
  options: { readonly recursive?: boolean; readonly force?: boolean } = {},
): Promise<void> {
  if (!isS3(path)) return local.rm(path, options)
  const { listObjects, removeObjects } = await objects()
  const paths: string[] = []
  if (options.recursive === true) {
    for await (const one of listObjects(`${path.replace(/\/+$/, '')}/`)) paths.push(one.path)
  }
  await removeObjects(paths.length > 0 ? paths : [path])
}

/** Everything in a directory whose name begins like this, with what is below it. */
export async function removeNamed(directory: string, beginning: string): Promise<void> {
  if (isS3(directory)) {
    const { listObjects, removeObjects } = await objects()
    const found: string[] = []
    for await (const { path } of listObjects(join(directory, beginning))) found.push(path)
    return found.length > 0 ? removeObjects(found) : undefined
  }
  const names = await local.readdir(directory).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
    throw error
  })
  for (const name of names) {
    if (name.startsWith(beginning))
      await local.rm(join(directory, name), { recursive: true, force: true })
  }
}

/** On S3, everything at and below it is copied, then removed. What is not there any more was moved before. */
export async function rename(from: string, to: string): Promise<void> {
  if (!isS3(from)) return local.rename(from, to)
  const { headObject, listObjects, removeObjects } = await objects()
  const moved: string[] = []
  const move = async (path: string) => {
    await copyWhole(path, to + path.slice(from.length))
    moved.push(path)
  }
  if (await headObject(from)) await move(from)
  else for await (const { path } of listObjects(`${from.replace(/\/+$/, '')}/`)) await move(path)
  if (moved.length === 0) throw missing(from)
  await removeObjects(moved)
}

/** The same file under another name; where that cannot be, a copy. */
export async function link(from: string, to: string): Promise<void> {
  if (isS3(from)) {
    await copyWhole(from, to)
    return
  }
  await local.mkdir(dirname(to), { recursive: true })
  await local.link(from, to).catch(() => copyWhole(from, to))
}

/** On S3 a directory that is empty is not there. */
export async function rmdir(path: string): Promise<void> {
  if (!isS3(path)) return local.rmdir(path)
  const isEmpty = !(await (await objects()).hasObjects(path))
  throw isEmpty ? missing(path) : systemError('ENOTEMPTY', path)
}

/** Whether it can be found. A failure of S3 is no answer, and is thrown. */
export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (error instanceof PrestigeError) throw error
    return false
  }
}

async function streamOf(path: string): Promise<AsyncGenerator<Buffer>> {
  const { headObject, readObject } = await objects()
  const found = await headObject(path)
  if (!found) throw missing(path)
  return readObject(path, found)
}

async function statsOf(path: string): Promise<FileStats> {
  const { headObject, hasObjects } = await objects()
  const found = await headObject(path)
  if (!found && !(await hasObjects(path))) throw missing(path)
  return {
    isFile: () => found !== undefined,
    isDirectory: () => found === undefined,
    isSymbolicLink: () => false,
    size: found?.bytes ?? 0,
    mtimeMs: found?.modifiedMs ?? 0,
  }
}

function missing(path: string): Error {
  return systemError('ENOENT', path)
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code })
}
