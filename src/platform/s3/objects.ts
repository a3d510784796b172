/** Objects of S3: listing, looking, reading by ranges, copying, removing. Every failure is a PrestigeError. */

import { PrestigeError } from '../errors.ts'
import { addressOf, pathOf } from './address.ts'
import { openS3 } from './client.ts'
import { isMissing, isOtherVersion, mayPass, s3Failure } from './errors.ts'

export interface S3Object {
  /** `s3://BUCKET/KEY`. */
  readonly path: string
  readonly bytes: number
  readonly modifiedMs: number
  /** Another one whenever the object is written. */
  readonly etag: string
}

/** `undefined` if there is none of this name. */
export async function headObject(path: string): Promise<S3Object | undefined> {
  const { bucket, key } = addressOf(path)
  if (key === '') return undefined
  const { sdk, client } = await openS3()
  try {
    const found = await client.send(new sdk.HeadObjectCommand({ Bucket: bucket, Key: key }))
    return {
      path,
      bytes: found.ContentLength ?? 0,
      modifiedMs: found.LastModified?.getTime() ?? 0,
      etag: found.ETag ?? '',
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw s3Failure(error, path, 'read')
  }
}

/** All objects whose path begins like this, in the byte order of their keys. */
export async function* listObjects(prefix: string, pageMax?: number): AsyncGenerator<S3Object> {
  const { bucket, key } = addressOf(prefix)
  const { sdk, client } = await openS3()
  let token: string | undefined
  do {
    const page = await client
      .send(
        new sdk.ListObjectsV2Command({
          Bucket: bucket,
          Prefix: key,
          ContinuationToken: token,
          MaxKeys: pageMax,
        }),
      )
      .catch((error: unknown) => {
        throw s3Failure(error, prefix, 'list')
      })
    for (const { Key, Size, LastModified, ETag } of page.Contents ?? []) {
      if (Key === undefined) continue
      yield {
        path: pathOf({ bucket, key: Key }),
        bytes: Size ?? 0,
        modifiedMs: LastModified?.getTime() ?? 0,
        etag: ETag ?? '',
      }
    }
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined
  } while (token !== undefined)
}

/** The first parts of all names below a prefix that ends with `/`, each once. */
export async function* listNames(prefix: string): AsyncGenerator<string> {
  const { bucket, key } = addressOf(prefix)
  const { sdk, client } = await openS3()
  let token: string | undefined
  do {
    const asked = { Bucket: bucket, Prefix: key, Delimiter: '/', ContinuationToken: token }
    const page = await client.send(new sdk.ListObjectsV2Command(asked)).catch((error: unknown) => {
      throw s3Failure(error, prefix, 'list')
    })
    for (const { Key = '' } of page.Contents ?? []) yield Key.slice(key.length)
    for (const { Prefix = '' } of page.CommonPrefixes ?? []) yield Prefix.slice(key.length, -1)
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined
  } while (token !== undefined)
}

const COPIED_BYTES_MAX = 5 * 1024 ** 3

/** Copies an object on the server, which takes up to 5 GiB at once; `false`: it is larger. */
export async function copyObject(from: string, to: string): Promise<boolean> {
  const source = addressOf(from)
  const { bucket, key } = addressOf(to)
  const found = await headObject(from)
  if (found && found.bytes > COPIED_BYTES_MAX) return false
  const { sdk, client } = await openS3()
  const names = source.key.split('/').map(encodeURIComponent)
  const CopySource = [source.bucket, ...names].join('/')
  await client
    .send(new sdk.CopyObjectCommand({ Bucket: bucket, Key: key, CopySource }))
    .catch((error: unknown) => {
      throw s3Failure(error, to, 'write')
    })
  return true
}

const READ_ATTEMPTS = 5
const BACKOFF_MS = 50

/** `etag`: of the object that is meant. */
export interface Wanted {
  readonly path: string
  readonly etag?: string | undefined
}

/** The object was replaced since its ETag was known. */
export class OtherVersion extends Error {}

/**
 * Fills `target` with the bytes from `at` on. A body that breaks off is asked for again from where it broke off.
 * Throws `OtherVersion` where the object is not the one that is meant.
 */
export async function readRange(
  { path, etag }: Wanted,
  target: Uint8Array,
  at: number,
  signal?: AbortSignal,
): Promise<void> {
  let filled = 0
  for (let attempt = 1; filled < target.length; attempt++) {
    const before = filled
    try {
      for await (const chunk of bodyOf(
        { path, etag },
        [at + filled, at + target.length - 1],
        signal,
      )) {
        if (filled + chunk.length > target.length) throw new OtherVersion()
        target.set(chunk, filled)
        filled += chunk.length
      }
      if (filled < target.length) throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    } catch (error) {
      if (error instanceof OtherVersion) throw error
      if (isOtherVersion(error)) throw new OtherVersion()
      if (filled > before) attempt = 1
      if (signal?.aborted || !mayPass(error) || attempt >= READ_ATTEMPTS) {
        throw s3Failure(error, path, 'read')
      }
      await pause(BACKOFF_MS * 2 ** attempt)
    }
  }
}

/** Not every server heeds `If-Match`, so the ETag of the reply is compared as well. */
async function* bodyOf(
  { path, etag }: Wanted,
  [first, last]: readonly [number, number],
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const { bucket, key } = addressOf(path)
  const { sdk, client } = await openS3()
  const reply = await client.send(
    new sdk.GetObjectCommand({
      Bucket: bucket,
      Key: key,
      Range: `bytes=${first}-${last}`,
      ...(etag && { IfMatch: etag }),
    }),
    signal ? { abortSignal: signal } : {},
  )
  if (etag && reply.ETag !== undefined && reply.ETag !== etag) throw new OtherVersion()
  // safe: in Node the body of a reply is a Readable
  yield* (reply.Body ?? []) as AsyncIterable<Uint8Array>
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

const STEP_BYTES = 8 * 1024 * 1024

/** The bytes from `start` to `end`, in steps, with the next one fetched while the last one is used. */
export async function* readSteps(
  wanted: Wanted,
  start: number,
  end: number,
  stepBytes = STEP_BYTES,
): AsyncGenerator<Buffer> {
  const stop = new AbortController()
  const fetchAt = (at: number) => {
    const step = Buffer.allocUnsafe(Math.min(stepBytes, end - at))
    const fetched = readRange(wanted, step, at, stop.signal).then(() => step)
    fetched.catch(() => undefined) // whoever awaits it gets the failure; nobody may
    return fetched
  }
  try {
    let ahead = start < end ? fetchAt(start) : undefined
    for (let at = start; ahead;) {
      const step = await ahead
      at += step.length
      ahead = at < end ? fetchAt(at) : undefined
      yield step
    }
  } finally {
    stop.abort()
  }
}

/** A whole object as a stream of bytes, as it is now; `known`: what was found of it. */
export async function* readObject(path: string, known?: S3Object): AsyncGenerator<Buffer> {
  const found = known ?? (await headObject(path))
  if (!found) throw new PrestigeError('FILE_NOT_FOUND', `${path} is not there. Check the path.`)
  try {
    yield* readSteps(found, 0, found.bytes)
  } catch (error) {
    if (!(error instanceof OtherVersion)) throw error
    throw new PrestigeError(
      'INPUT_CHANGED',
      `${path} was replaced while it was read. Leave it alone meanwhile, and start again.`,
    )
  }
}

/** Whether there is any object below this name. */
export async function hasObjects(path: string): Promise<boolean> {
  for await (const _ of listObjects(`${path.replace(/\/+$/, '')}/`, 1)) return true
  return false
}

const REMOVED_AT_ONCE = 1000

/** No failure where there is none. */
export async function removeObjects(paths: readonly string[]): Promise<void> {
  const { sdk, client } = await openS3()
  for (let at = 0; at < paths.length; at += REMOVED_AT_ONCE) {
    const page = paths.slice(at, at + REMOVED_AT_ONCE)
    const [first = ''] = page
    const { bucket } = addressOf(first)
    const Objects = page.map((path) => ({ Key: addressOf(path).key }))
    const reply = await client
      .send(new sdk.DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }))
      .catch((error: unknown) => {
        throw s3Failure(error, first, 'write')
      })
    const [failed] = reply.Errors ?? []
    if (!failed) continue
    const cause = Object.assign(new Error(failed.Message), { name: failed.Code ?? '' })
    throw s3Failure(cause, pathOf({ bucket, key: failed.Key ?? '' }), 'write')
  }
}
