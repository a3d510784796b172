/** Objects of S3: listings of many pages, ranges, and uploads in parts that are whole or not there. */

import { createHash } from 'node:crypto'

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'

import { S3Server } from '../../../test/servers/s3.ts'
import { AtomicFile, copyWhole, writeWhole } from '../atomic-file.ts'
import { exists, readdir, readFile, readLines, rm, stat } from '../files.ts'
import { dirname, join, relative, resolve } from '../paths.ts'
import { addressOf } from './address.ts'
import { s3Failure } from './errors.ts'
import { listObjects, readObject } from './objects.ts'

const BUCKET = 'objects'
let server: S3Server

beforeAll(async () => {
  server = await S3Server.start(BUCKET)
  process.env['AWS_ENDPOINT_URL_S3'] = server.endpoint
})
afterAll(() => server.stop())
beforeEach(() => server.forget())

const s3 = (key: string) => `s3://${BUCKET}/${key}`

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** More than one part, and no two parts the same. */
function* pieces(mebibytes: number): Generator<Buffer> {
  for (let at = 0; at < mebibytes; at++) yield Buffer.alloc(1024 * 1024 + 1, `piece ${at} `)
}

const sha256 = (parts: Iterable<Uint8Array>) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

describe('addresses', () => {
  it('have a bucket and a key, as typed', () => {
    expect(addressOf('s3://b-1.x/a%20b/ü c')).toEqual({ bucket: 'b-1.x', key: 'a%20b/ü c' })
    expect(addressOf('s3://bucket')).toEqual({ bucket: 'bucket', key: '' })
    for (const bad of ['s3://', 's3:///key', 's3://a b/key']) {
      expect(() => addressOf(bad)).toThrow(/names no bucket/)
    }
  })

  it('are joined and resolved without a working directory', () => {
    expect(join('s3://b/x/', 'y', 'z')).toBe('s3://b/x/y/z')
    expect(join('s3://b', 'y')).toBe('s3://b/y')
    expect(resolve('s3://b/x/')).toBe('s3://b/x')
    expect(dirname('s3://b/x/y')).toBe('s3://b/x')
    expect(dirname('s3://b/x')).toBe('s3://b')
    expect(relative('s3://b/x', 's3://b/x/y/z')).toBe('y/z')
    expect(relative('s3://b/x', 's3://b/xy')).toMatch(/^\.\./)
    expect(relative('/tmp', 's3://b/x')).toMatch(/^\.\./)
    expect(join('/a', '..', 'b')).toBe('/b')
  })
})

describe('a listing', () => {
  it('gives all objects, however many pages they are', async () => {
    const names = Array.from({ length: 7 }, (_, at) => `many/${at} é`)
    await server.put(BUCKET, Object.fromEntries(names.map((name) => [name, 'x'])))
    const found = await collect(listObjects(s3('many/'), 2))
    expect(found.map(({ path }) => path)).toEqual(names.map(s3))
    expect(found[0]).toMatchObject({ bytes: 1, etag: expect.stringMatching(/^"[0-9a-f]{32}"$/) })
    expect(server.requests).toHaveLength(4)
  })
})

describe('files of a directory on S3', () => {
  it('are read, listed, copied and removed like local ones', async () => {
    await writeWhole(s3('dir/a.txt'), ['one\n', 'two\n'])
    await writeWhole(s3('dir/sub/b.txt'), [])
    expect(await readFile(s3('dir/a.txt'), 'utf8')).toBe('one\ntwo\n')
    expect(await collect(readLines(s3('dir/a.txt')))).toEqual(['one', 'two'])
    expect(await readFile(s3('dir/sub/b.txt'))).toEqual(Buffer.alloc(0))
    expect(await readdir(s3('dir'))).toEqual(['a.txt', 'sub'])
    expect(await readdir(s3('dir'), { recursive: true })).toEqual(['a.txt', 'sub/b.txt'])
    expect((await stat(s3('dir/sub'))).isDirectory()).toBe(true)
    expect((await stat(s3('dir/a.txt'))).size).toBe(8)
    await copyWhole(s3('dir/a.txt'), s3('dir/ä copy.txt'))
    expect(await readFile(s3('dir/ä copy.txt'), 'utf8')).toBe('one\ntwo\n')
    await rm(s3('dir/sub'), { recursive: true })
    expect(await exists(s3('dir/sub'))).toBe(false)
    await expect(readFile(s3('dir/none'))).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(readdir(s3('none'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('are not taken for missing when S3 refuses the question', async () => {
    server.fault = () => 'deny'
    await expect(exists(s3('dir/a.txt'))).rejects.toMatchObject({ code: 'ACCESS_DENIED' })
  })
})

describe('an upload in parts', () => {
  it('gives the same bytes back, though requests fail and replies break off', async () => {
    let [cuts, failures] = [3, 1]
    server.fault = ({ url, range }) => {
      if (range !== undefined && cuts-- > 0) return 'cut'
      return url.includes('partNumber=2') && failures-- > 0 ? 'fail' : undefined
    }
    await writeWhole(s3('parts/large'), pieces(20))
    expect(server.requests.filter(({ url }) => url.includes('partNumber=3'))).toHaveLength(1)
    const read = await collect(readObject(s3('parts/large')))
    expect(sha256(read)).toBe(sha256(pieces(20)))
  })

  it('is done once, though the reply that says so is lost', async () => {
    let isLost = false
    server.fault = ({ method, url }) => {
      if (isLost || method !== 'POST' || !url.includes('uploadId=')) return undefined
      isLost = true
      return 'lose'
    }
    await writeWhole(s3('parts/lost'), pieces(10))
    expect(isLost).toBe(true)
    expect((await stat(s3('parts/lost'))).size).toBe(10 * (1024 * 1024 + 1))
  })

  it('leaves nothing visible when it is given up or fails, and gives its parts back', async () => {
    const file = await AtomicFile.open(s3('parts/aborted'))
    for (const piece of pieces(12)) await file.write(piece)
    await file.abort()
    server.fault = ({ url }) => (url.includes('partNumber=2') ? 'deny' : undefined)
    await expect(writeWhole(s3('parts/refused'), pieces(20))).rejects.toMatchObject({
      code: 'ACCESS_DENIED',
      message: expect.stringContaining('s3:PutObject'),
    })
    const removed = server.requests.filter(({ method }) => method === 'DELETE')
    expect(removed.map(({ url }) => /parts\/\w+/.exec(url)?.[0])).toEqual([
      'parts/aborted',
      'parts/refused',
    ])
    expect(await exists(s3('parts/aborted'))).toBe(false)
    expect(await exists(s3('parts/refused'))).toBe(false)
  })
})

describe('a failure', () => {
  const failed = (name: string, status: number, message = '') =>
    Object.assign(new Error(message), { name, $metadata: { httpStatusCode: status } })

  it.each([
    ['NoSuchBucket', 404, 'FILE_NOT_FOUND', 'AWS_ENDPOINT_URL_S3'],
    ['NoSuchKey', 404, 'FILE_NOT_FOUND', 'is not there'],
    ['AccessDenied', 403, 'ACCESS_DENIED', 's3:GetObject'],
    ['Unknown', 403, 'ACCESS_DENIED', 's3:GetObject'],
    ['ExpiredToken', 400, 'ACCESS_DENIED', 'ExpiredToken'],
    ['CredentialsProviderError', 0, 'ACCESS_DENIED', 'AWS_ACCESS_KEY_ID'],
    ['PermanentRedirect', 301, 'INVALID_OPTIONS', 'AWS_REGION'],
    ['SlowDown', 503, 'BACKEND_UNAVAILABLE', 'try again later'],
    ['InvalidRequest', 400, 'INPUT_UNREADABLE', 'InvalidRequest'],
  ])('%s is %i is %s, and says what to do', (name, status, code, said) => {
    const failure = s3Failure(failed(name, status), s3('a'), 'read')
    expect(failure).toMatchObject({ code, message: expect.stringContaining(said) })
  })

  it('of a region that nobody has set says how to set it', () => {
    const failure = s3Failure(failed('Error', 0, 'Region is missing'), s3('a'), 'list')
    expect(failure).toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(failure.message).toContain('no region is configured. Set AWS_REGION')
  })

  it('of a package that is not installed says which', async () => {
    vi.resetModules()
    vi.doMock('@aws-sdk/client-s3', () => {
      throw new Error('Cannot find package')
    })
    const { headObject: head } = await import('./objects.ts')
    await expect(head(s3('a'))).rejects.toMatchObject({
      code: 'PACKAGE_MISSING',
      message: expect.stringContaining('npm install @aws-sdk/client-s3'),
    })
    vi.doUnmock('@aws-sdk/client-s3')
  })
})
