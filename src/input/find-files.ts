/**
 * Expands what a caller names into files: files themselves, directories with all that is below, and globs.
 *
 * Symbolic links are followed to files below the same directory, and to others only where that is asked for; never to
 * directories, so that no loop can be entered. Hidden names are skipped. What is skipped is reported.
 */

import { type Dirent, existsSync, type Stats } from 'node:fs'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

import { glob, isDynamicPattern } from 'tinyglobby'

import { codeOf, PrestigeError } from '../platform/errors.ts'
import { isS3 } from '../platform/s3/address.ts'
import { inputFailure } from './failure.ts'

export interface FoundFile {
  readonly file: string
  readonly bytes: number
  readonly modifiedMs: number
  /** Of an object on S3. */
  readonly etag?: string | undefined
  /** Named by the caller, and not only found below something. */
  readonly isNamed: boolean
}

export interface Skipped {
  readonly file: string
  readonly why: string
}

export interface Found {
  readonly files: FoundFile[]
  readonly skipped: Skipped[]
  /** One for each pattern: the directory that it looked into. */
  readonly bases: string[]
}

export async function findFiles(
  patterns: readonly string[],
  followSymlinks = false,
): Promise<Found> {
  const found: Search = { files: [], skipped: [], bases: [], followSymlinks }
  for (const pattern of patterns) await expand(pattern, found)
  return found
}

interface Search extends Found {
  readonly followSymlinks: boolean
}

/** Why a name was passed over that begins with a dot. */
export const HIDDEN = 'hidden'
/** Why a link was passed over that leads to a file outside. */
export const LEADS_OUTSIDE = 'a link that leads outside the input'
const NOT_UTF8 = 'its name is not UTF-8: rename it to have it read'

async function expand(pattern: string, found: Search): Promise<void> {
  if (isS3(pattern)) {
    requireFewStars(pattern)
    return (await import('./find-objects.ts')).findObjects(pattern, found)
  }
  const stats = await statOf(pattern)
  if (stats?.isDirectory()) {
    found.bases.push(resolve(pattern))
    await walk(pattern, found)
  } else if (stats) {
    found.bases.push(dirname(resolve(pattern)))
    addFile(pattern, stats, true, found)
  } else if (isDynamicPattern(pattern)) await expandGlob(pattern, found)
  else throw new PrestigeError('FILE_NOT_FOUND', `${pattern} is not there. Check the path.`)
}

async function expandGlob(pattern: string, found: Search): Promise<void> {
  requireFewStars(pattern)
  const names = await glob(pattern, { followSymbolicLinks: false, onlyFiles: false, dot: false })
  const files: string[] = []
  const base = staticBase(pattern)
  for (const name of names) {
    const stats = await statOf(name)
    if (!stats) {
      const why = (await hasOtherName(name)) ? NOT_UTF8 : 'a link to nothing'
      found.skipped.push({ file: name, why })
    } else if (!stats.isDirectory()) {
      files.push(name)
      await addInside(name, stats, base, found)
    }
  }
  if (files.length === 0) {
    const message = `${pattern} matches no file. Check the pattern; quote it, so that the shell leaves it alone.`
    throw new PrestigeError('FILE_NOT_FOUND', message)
  }
  found.bases.push(base)
}

/** Each star of a part multiplies the ways in which a name can match it, all of which may be tried. */
const STARS_MAX = 6

function requireFewStars(pattern: string): void {
  const part = pattern.split('/').find((one) => (one.match(/\*+|\+\(/g) ?? []).length > STARS_MAX)
  if (part === undefined) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${pattern} has a part with more than ${STARS_MAX} stars (${part}), which could take for ever to match. Name the files with fewer, or the directory.`,
  )
}

function staticBase(pattern: string): string {
  return resolve(fixedPart(pattern) || (pattern.startsWith('/') ? '/' : '.'))
}

/** The directories before the first part that is a pattern. */
function fixedPart(pattern: string): string {
  const parts = pattern.split('/')
  const first = parts.findIndex((part) => isDynamicPattern(part))
  return parts.slice(0, Math.max(0, first)).join('/')
}

/** What an input is called that was typed so: `books` for `books`, `./books/` and `books/*.jsonl`. */
export function sourceOfInput(typed: string): string {
  if (typed === '-') return 'stdin'
  const isGlob = isDynamicPattern(typed) && !existsSync(typed)
  const path = (isGlob && fixedPart(typed)) || typed
  return path.replace(/^(?:\.\/+)+(?=.)/, '').replace(/(?<=.)\/+$/, '')
}

async function walk(root: string, found: Search): Promise<void> {
  const pending = [root]
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    for (const entry of await entriesOf(directory)) {
      const path = join(directory, entry.name)
      if (entry.name.startsWith('.')) found.skipped.push({ file: path, why: HIDDEN })
      else if (await hasOtherName(path)) found.skipped.push({ file: path, why: NOT_UTF8 })
      else if (entry.isDirectory()) pending.push(path)
      else await addEntry(path, root, entry.isSymbolicLink(), found)
    }
  }
}

/** Bytes of a name that are not UTF-8 are listed as U+FFFD, and nothing can be opened by such a name. */
async function hasOtherName(path: string): Promise<boolean> {
  if (!path.includes('\uFFFD')) return false
  return lstat(path).then(
    () => false,
    (error: unknown) => codeOf(error) === 'ENOENT',
  )
}

async function addEntry(path: string, root: string, isLink: boolean, found: Search): Promise<void> {
  const stats = await statOf(path)
  if (!stats) found.skipped.push({ file: path, why: 'a link to nothing' })
  else if (stats.isDirectory()) found.skipped.push({ file: path, why: 'a link to a directory' })
  else if (!isLink) addFile(path, stats, false, found)
  else await addInside(path, stats, root, found)
}

/** A link that leads elsewhere would put what nobody named into the outputs. */
async function addInside(path: string, stats: Stats, root: string, found: Search): Promise<void> {
  if (!found.followSymlinks && (await leadsOutside(path, root))) {
    found.skipped.push({ file: path, why: LEADS_OUTSIDE })
  } else addFile(path, stats, false, found)
}

async function leadsOutside(path: string, root: string): Promise<boolean> {
  try {
    if (!(await lstat(path)).isSymbolicLink()) return false
    const way = relative(await realpath(root), await realpath(path))
    return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)
  } catch (error) {
    throw inputFailure(path, error)
  }
}

function addFile(file: string, stats: Stats, isNamed: boolean, found: Found): void {
  if (stats.isFile()) {
    found.files.push({ file, bytes: stats.size, modifiedMs: stats.mtimeMs, isNamed })
  } else if (isNamed) {
    const message = `${file} is neither a file nor a directory. Give what it holds with - on stdin.`
    throw new PrestigeError('INPUT_UNREADABLE', message)
  } else found.skipped.push({ file, why: 'neither a file nor a directory' })
}

async function entriesOf(directory: string): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true })
  } catch (error) {
    throw inputFailure(directory, error)
  }
}

/** Follows links; `undefined` if there is nothing. */
async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ELOOP') return undefined
    throw inputFailure(path, error)
  }
}
