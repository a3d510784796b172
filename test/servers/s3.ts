/**
 * An S3 to test against: `s3rver`, in this process, with its objects in a temporary directory, behind a proxy that can
 * be made to fail. Both listen on free ports of the loopback.
 *
 * The proxy answers what s3rver does not know: the giving up of a multipart upload, and one that is completed again.
 */

import type * as Crypto from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import {
  S3Client,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3'

process.env['AWS_ACCESS_KEY_ID'] = 'S3RVER'
process.env['AWS_SECRET_ACCESS_KEY'] = 'S3RVER'
process.env['AWS_REGION'] = 'us-east-1'
// It says on stderr that it will not support Node 20 for ever.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'

/** `fail`: status 503 · `deny`: status 403 · `reset`: no reply · `cut`: half of the reply · `lose`: done, but no reply. */
export type Fault = 'fail' | 'deny' | 'reset' | 'cut' | 'lose'

export interface S3Request {
  readonly method: string
  readonly url: string
  readonly range: string | undefined
}

interface S3rver {
  run(): Promise<{ readonly port: number }>
  close(): Promise<void>
}

type NewS3rver = new (options: object) => S3rver

const require = createRequire(import.meta.url)

/** It makes tokens of long listings with DES, which OpenSSL 3 has no more; three times the same key is DES. */
function giveItDes(): void {
  const crypto = require('node:crypto') as typeof Crypto // safe: the module itself, whose functions it calls
  const { createCipheriv, createDecipheriv } = crypto
  const triple = (key: Buffer) => Buffer.concat([key, key, key])
  Object.assign(crypto, {
    createCipheriv: (name: string, key: Buffer, iv: Buffer) =>
      name === 'des'
        ? createCipheriv('des-ede3-cbc', triple(key), iv)
        : createCipheriv(name, key, iv),
    createDecipheriv: (name: string, key: Buffer, iv: Buffer) =>
      name === 'des'
        ? createDecipheriv('des-ede3-cbc', triple(key), iv)
        : createDecipheriv(name, key, iv),
  })
}

export class S3Server {
  /** Since the last `forget`. */
  readonly requests: S3Request[] = []
  /** Asked of every request; `undefined`: it is passed on. */
  fault: (request: S3Request, number: number) => Fault | undefined | Promise<Fault | undefined> =
    () => undefined
  /** Changes the replies to listings: s3rver cannot keep every key that S3 can. */
  listed: (reply: string) => string = (reply) => reply
  readonly #completed = new Set<string>()
  readonly #proxy: Server
  readonly #real: S3rver
  readonly #directory: string
  readonly #port: number
  readonly client: S3Client

  private constructor(real: S3rver, port: number, directory: string) {
    this.#real = real
    this.#port = port
    this.#directory = directory
    this.#proxy = createServer((incoming, reply) => void this.#answer(incoming, reply))
    const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
    const endpoint = `http://127.0.0.1:${port}`
    this.client = new S3Client({ region: 'us-east-1', endpoint, forcePathStyle: true, credentials })
  }

  static async start(bucket: string): Promise<S3Server> {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-s3-'))
    // safe: the package has no types; it exports one class
    const Real = require('s3rver') as NewS3rver
    giveItDes()
    const configureBuckets = [{ name: bucket }]
    const real = new Real({
      address: '127.0.0.1',
      port: 0,
      silent: true,
      directory,
      configureBuckets,
    })
    const { port } = await real.run()
    const server = new S3Server(real, port, directory)
    server.#proxy.listen(0, '127.0.0.1')
    await once(server.#proxy, 'listening')
    return server
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#proxy.address() as { port: number }).port}`
  }

  forget(): void {
    this.requests.length = 0
    this.fault = () => undefined
    this.listed = (reply) => reply
  }

  async stop(): Promise<void> {
    this.client.destroy()
    this.#proxy.closeAllConnections()
    this.#proxy.close()
    await this.#real.close()
    await rm(this.#directory, { recursive: true, force: true })
  }

  /** Past the proxy and past prestige. */
  async put(bucket: string, objects: Record<string, string | Uint8Array>): Promise<void> {
    for (const [Key, Body] of Object.entries(objects)) {
      await this.client.send(new PutObjectCommand({ Bucket: bucket, Key, Body }))
    }
  }

  async remove(bucket: string, key: string): Promise<void> {
    await this.client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }))
  }

  /** What is below a prefix, by the rest of its key. */
  async get(bucket: string, prefix: string): Promise<Record<string, Buffer>> {
    const found: Record<string, Buffer> = {}
    const listed = await this.client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }),
    )
    for (const { Key = '' } of listed.Contents ?? []) {
      const { Body } = await this.client.send(new GetObjectCommand({ Bucket: bucket, Key }))
      found[Key.slice(prefix.length)] = Buffer.from(await Body!.transformToByteArray())
    }
    return found
  }

  async #answer(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = incoming
    const asked = { method, url, range: headers.range }
    this.requests.push(asked)
    const fault = await this.fault(asked, this.requests.length)
    if (fault === 'reset') return void incoming.socket.destroy()
    if (method === 'DELETE' && url.includes('uploadId=')) return void reply.writeHead(204).end()
    const isAgain = method === 'POST' && this.#completed.has(url)
    if (method === 'POST' && url.includes('uploadId=')) this.#completed.add(url)
    if (isAgain || fault === 'fail' || fault === 'deny') {
      const [status, code] = isAgain
        ? [404, 'NoSuchUpload']
        : fault === 'fail'
          ? [503, 'SlowDown']
          : [403, 'AccessDenied']
      incoming.resume()
      reply.writeHead(status, { 'content-type': 'application/xml' })
      return void reply.end(method === 'HEAD' ? '' : `<Error><Code>${code}</Code></Error>`)
    }
    const passed = request(
      { port: this.#port, host: '127.0.0.1', method, path: url, headers },
      (from) => {
        if (fault === 'lose') {
          from.resume()
          return from.on('end', () => incoming.socket.destroy())
        }
        if (url.includes('list-type=2')) return void this.#passListing(from, reply)
        reply.writeHead(from.statusCode ?? 500, from.headers)
        if (fault !== 'cut') return from.pipe(reply)
        const half = Math.ceil(Number(from.headers['content-length'] ?? 0) / 2)
        return from.once('data', (data: Buffer) => {
          reply.write(data.subarray(0, half), () => incoming.socket.destroy())
        })
      },
    )
    passed.on('error', () => incoming.socket.destroy())
    incoming.pipe(passed)
  }

  async #passListing(from: IncomingMessage, reply: ServerResponse): Promise<void> {
    let text = ''
    for await (const part of from.setEncoding('utf8')) text += part
    const { 'content-length': _length, ...headers } = from.headers
    reply.writeHead(from.statusCode ?? 500, headers)
    reply.end(this.listed(text))
  }
}
