/**
 * Expands an `s3://` input into objects: one object, all below a prefix, or those whose key matches a glob.
 *
 * Keys become names of outputs, so one that is no plain relative path (`a//b`, `../a`) is skipped. Hidden names are
 * skipped as they are in directories. What is skipped is reported.
 */

import picomatch from 'picomatch'
import { isDynamicPattern } from 'tinyglobby'

import { PrestigeError } from '../platform/errors.ts'
import { dirname, resolve } from '../platform/paths.ts'
import { headObject, listObjects, type S3Object } from '../platform/s3/objects.ts'
import type { Found } from './find-files.ts'

export async function findObjects(pattern: string, found: Found): Promise<void> {
  const object = pattern.endsWith('/') ? undefined : await headObject(pattern)
  if (object) {
    requirePlain(pattern)
    found.bases.push(dirname(pattern))
    addObject(object, true, found)
    return
  }
  const count = isDynamicPattern(pattern)
    ? await addMatching(pattern, found)
    : await addBelow(resolve(pattern), found)
  if (count > 0) return
  const message = isDynamicPattern(pattern)
    ? `${pattern} matches no object. Check the pattern; quote it, so that the shell leaves it alone.`
    : `${pattern} is not there: no object has this key, and none is below it. Check the path.`
  throw new PrestigeError('FILE_NOT_FOUND', message)
}

async function addBelow(base: string, found: Found): Promise<number> {
  let count = 0
  for await (const object of listObjects(`${base}/`)) {
    count++
    const why = unfitReason(object.path.slice(base.length + 1))
    if (why === undefined) addObject(object, false, found)
    else found.skipped.push({ file: object.path, why })
  }
  found.bases.push(base)
  return count
}

/** Only keys that begin as the pattern does before its first part with a star are listed. */
async function addMatching(pattern: string, found: Found): Promise<number> {
  const parts = pattern.split('/')
  const first = parts.findIndex((part) => isDynamicPattern(part))
  const base = parts.slice(0, first).join('/')
  if (first < 3) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `${pattern}: the bucket cannot be a pattern. Name it, as in s3://BUCKET/*.jsonl.`,
    )
  }
  const matches = picomatch(parts.slice(first).join('/'))
  let count = 0
  for await (const object of listObjects(`${base}/`)) {
    const name = object.path.slice(base.length + 1)
    if (!matches(name) || name.endsWith('/')) continue
    count++
    const why = unfitReason(name)
    if (why === undefined) addObject(object, false, found)
    else found.skipped.push({ file: object.path, why })
  }
  found.bases.push(base)
  return count
}

function addObject({ path, bytes, modifiedMs, etag }: S3Object, isNamed: boolean, found: Found) {
  found.files.push({ file: path, bytes, modifiedMs, etag, isNamed })
}

/** Why an object below a prefix is no input. */
function unfitReason(name: string): string | undefined {
  if (name.endsWith('/')) return 'a marker of a folder'
  const parts = name.split('/')
  if (!isPlain(parts)) return 'its key is no plain path'
  return parts.some((part) => part.startsWith('.')) ? 'hidden' : undefined
}

function isPlain(parts: readonly string[]): boolean {
  return parts.every((part) => !['', '.', '..'].includes(part) && !part.includes('\0'))
}

function requirePlain(path: string): void {
  if (isPlain(path.split('/').slice(3))) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${path}: a key with empty parts, "." or ".." cannot name an output. Copy the object to another key.`,
  )
}
