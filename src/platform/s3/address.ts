/** `s3://BUCKET/KEY`: the key is taken as it is typed, without percent-encoding, as all S3 tools do. */

import { PrestigeError } from '../errors.ts'

const SCHEME = 's3://'

export interface S3Address {
  readonly bucket: string
  /** Without a slash at its beginning; empty for the whole bucket. */
  readonly key: string
}

export function isS3(path: string): boolean {
  return path.startsWith(SCHEME)
}

export function addressOf(path: string): S3Address {
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/s.exec(path) ?? []
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(bucket)) return { bucket, key }
  throw new PrestigeError(
    'INVALID_LOCATION',
    `${path} names no bucket. An address on S3 has the form s3://BUCKET/PREFIX.`,
  )
}

export function pathOf({ bucket, key }: S3Address): string {
  return `${SCHEME}${bucket}/${key}`
}
