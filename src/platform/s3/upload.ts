/**
 * An object of S3 while it is written: nobody sees it before `close`, and after `abort` nobody ever does.
 *
 * Up to one part is sent as one request, more as a multipart upload, two parts at a time: memory is bounded by three
 * parts. Parts grow with their number, because an upload has at most 10,000 of them and an object up to 5 TiB.
 */

import { addressOf } from './address.ts'
import { openS3 } from './client.ts'
import { isMissing, s3Failure } from './errors.ts'
import { headObject, listObjects } from './objects.ts'

const PART_BYTES = 8 * 1024 * 1024
const PARTS_OF_A_SIZE = 1000
const PARTS_AT_ONCE = 2

/** Whether objects can be written below a prefix: found out without a trace, by an upload that is given up. */
export async function requireWritable(prefix: string): Promise<void> {
  for await (const _ of listObjects(`${prefix.replace(/\/+$/, '')}/`, 1)) break
  const probe = new S3Upload(`${prefix.replace(/\/+$/, '')}/.prestige-probe`)
  await probe.begin()
  await probe.abort()
}

interface Part {
  readonly PartNumber: number
  readonly ETag: string | undefined
}

export class S3Upload {
  readonly #path: string
  readonly #target: { readonly Bucket: string; readonly Key: string }
  #buffer: Buffer = Buffer.alloc(0)
  #filled = 0
  #bytes = 0
  #upload: string | undefined
  #number = 0
  readonly #parts: Part[] = []
  readonly #sending = new Set<Promise<void>>()
  #failure: unknown
  #isOver = false

  constructor(path: string) {
    const { bucket, key } = addressOf(path)
    this.#path = path
    this.#target = { Bucket: bucket, Key: key }
  }

  /** Fails where an object cannot be written. */
  async begin(): Promise<void> {
    try {
      this.#upload ??= await this.#create()
    } catch (error) {
      throw s3Failure(error, this.#path, 'write')
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      if (this.#filled === this.#buffer.length && this.#filled > 0) await this.#send()
      if (this.#buffer.length === 0) this.#buffer = Buffer.allocUnsafe(this.#partBytes())
      const length = Math.min(bytes.length - at, this.#buffer.length - this.#filled)
      this.#buffer.set(bytes.subarray(at, at + length), this.#filled)
      this.#filled += length
      this.#bytes += length
      at += length
    }
  }

  /** When it returns, the object is there, whole. */
  async close(): Promise<void> {
    if (this.#isOver) return
    try {
      if (this.#upload === undefined) await this.#put()
      else {
        await this.#send()
        await Promise.all(this.#sending)
        if (this.#failure !== undefined) throw this.#failure
        await this.#complete(this.#upload)
      }
    } catch (error) {
      await this.abort()
      throw s3Failure(error, this.#path, 'write')
    }
    this.#isOver = true
    this.#buffer = Buffer.alloc(0)
  }

  /** May be called after a failure, and twice. Parts that cannot be removed now are invisible, and expire by the bucket's rule. */
  async abort(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    this.#buffer = Buffer.alloc(0)
    await Promise.allSettled(this.#sending)
    if (this.#upload === undefined) return
    const { sdk, client } = await openS3()
    const UploadId = this.#upload
    await client
      .send(new sdk.AbortMultipartUploadCommand({ ...this.#target, UploadId }))
      .catch(() => undefined)
  }

  #partBytes(): number {
    return PART_BYTES * 2 ** Math.floor(this.#number / PARTS_OF_A_SIZE)
  }

  async #put(): Promise<void> {
    const { sdk, client } = await openS3()
    const Body = this.#buffer.subarray(0, this.#filled)
    await client.send(new sdk.PutObjectCommand({ ...this.#target, Body }))
  }

  /** Takes what was collected as the next part, and waits only while too many are on their way. */
  async #send(): Promise<void> {
    const Body = this.#buffer.subarray(0, this.#filled)
    const PartNumber = ++this.#number
    this.#buffer = Buffer.alloc(0)
    this.#filled = 0
    try {
      const UploadId = (this.#upload ??= await this.#create())
      while (this.#sending.size >= PARTS_AT_ONCE) await Promise.race(this.#sending)
      if (this.#failure !== undefined) throw this.#failure
      const sent: Promise<void> = this.#sendPart(UploadId, PartNumber, Body)
        .catch((error: unknown) => {
          this.#failure ??= error
        })
        .finally(() => this.#sending.delete(sent))
      this.#sending.add(sent)
    } catch (error) {
      await this.abort()
      throw s3Failure(error, this.#path, 'write')
    }
  }

  async #sendPart(UploadId: string, PartNumber: number, Body: Buffer): Promise<void> {
    const { sdk, client } = await openS3()
    const part = { ...this.#target, UploadId, PartNumber, Body }
    const { ETag } = await client.send(new sdk.UploadPartCommand(part))
    this.#parts.push({ PartNumber, ETag })
  }

  async #create(): Promise<string> {
    const { sdk, client } = await openS3()
    const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(this.#target))
    if (UploadId === undefined) throw new Error('the reply names no upload')
    return UploadId
  }

  async #complete(UploadId: string): Promise<void> {
    const { sdk, client } = await openS3()
    const Parts = this.#parts.toSorted((one, other) => one.PartNumber - other.PartNumber)
    try {
      const whole = { ...this.#target, UploadId, MultipartUpload: { Parts } }
      await client.send(new sdk.CompleteMultipartUploadCommand(whole))
    } catch (error) {
      // The client repeats a request whose reply was lost. An upload that is no more, and that nobody has given up, was
      // completed by the first.
      const found = isMissing(error) ? await headObject(this.#path) : undefined
      if (found?.bytes !== this.#bytes) throw error
    }
  }
}
