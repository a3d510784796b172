/**
 * Paths that may be on S3: `node:path` for local ones, and the same for `s3://BUCKET/KEY`, of which `node:path` would
 * make directories below the working directory.
 */

import * as local from 'node:path'

import { isS3 } from './s3/address.ts'

export function join(first: string, ...names: readonly string[]): string {
  return isS3(first) ? [bare(first), ...names].join('/') : local.join(first, ...names)
}

/** The same for every working directory. */
export function resolve(path: string): string {
  return isS3(path) ? bare(path) : local.resolve(path)
}

export function dirname(path: string): string {
  return isS3(path) ? path.replace(/(?<=[^/])\/[^/]*$/, '') : local.dirname(path)
}

/** Begins with `..` where `to` is not below `from`. */
export function relative(from: string, to: string): string {
  if (!isS3(from) && !isS3(to)) return local.relative(from, to)
  const above = from.endsWith('/') ? from : `${from}/`
  if (to === from) return ''
  return isS3(from) && to.startsWith(above) ? to.slice(above.length) : `../${to}`
}

function bare(path: string): string {
  return path.replace(/(?<=[^/])\/+$/, '')
}
