/**
 * A long value as a stream: put, read whole and in ranges, backed up, and restored into another store. Its bytes are
 * generated as they are needed and compared by SHA-256, and beside it SHA-256 of the same bytes alone is timed.
 */

import assert from 'node:assert/strict'
import { createCipheriv, createHash } from 'node:crypto'
import { join } from 'node:path'

import { anonymousBytes } from '../../bench/harness/measure.ts'
import { seededRandom } from '../../src/backends/simulated/backend.ts'
import { checkBackup, restoreBackup } from '../../src/exports/backup.ts'
import { openStore, type Store } from '../../src/index.ts'

const BLOCK_BYTES = 2 ** 20
const RANGES = 20
const RANGE_BYTES_MAX = 3 * BLOCK_BYTES
const ADDED_BYTES_MAX = 64 * 2 ** 20
/** Looking at the memory takes milliseconds. */
const BYTES_A_LOOK = 64 * BLOCK_BYTES
const ZEROS = Buffer.alloc(BLOCK_BYTES)

/** Any block of a value by itself: the key stream of AES in counter mode, from the number of the block on. */
function blockOf(seed: number, number: number): Buffer {
  const [key, counter] = [Buffer.alloc(16), Buffer.alloc(16)]
  key.writeUInt32LE(seed)
  counter.writeUInt32BE(number)
  return createCipheriv('aes-128-ctr', key, counter).update(ZEROS)
}

async function* blocksOf(seed: number, from: number, to: number): AsyncGenerator<Buffer> {
  for (let block = from; block < to; block++) yield blockOf(seed, block)
}

async function bytesOf(pieces: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces ?? []) all.push(piece)
  return Buffer.concat(all)
}

async function sha256Of(pieces: AsyncIterable<Uint8Array> | undefined): Promise<string> {
  const sha256 = createHash('sha256')
  for await (const piece of pieces ?? []) sha256.update(piece)
  return sha256.digest('hex')
}

/** Works on streams, and says what that takes. */
class Meter {
  /** The most anonymous memory that was added. */
  addedBytes = 0
  readonly #before = anonymousBytes()
  #lookingMs = 0

  async *watch(pieces: AsyncIterable<Uint8Array> | undefined): AsyncGenerator<Uint8Array> {
    let next = 0
    let bytes = 0
    for await (const piece of pieces ?? []) {
      if (bytes >= next) {
        this.#look()
        next += BYTES_A_LOOK
      }
      bytes += piece.byteLength
      yield piece
    }
  }

  #look(): void {
    const started = cpuMs()
    this.addedBytes = Math.max(this.addedBytes, anonymousBytes() - this.#before)
    this.#lookingMs += cpuMs() - started
  }

  /** CPU time, which other programs on the machine change least; looking at the memory is left out. */
  async msOf(work: () => Promise<unknown>): Promise<number> {
    const started = cpuMs() - this.#lookingMs
    await work()
    return cpuMs() - this.#lookingMs - started
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

export interface StreamSoakReport {
  readonly gib: number
  /** CPU time of SHA-256 alone divided by that of a put and of a get. */
  readonly putSpeed: number
  readonly getSpeed: number
  readonly sha256MBPerSecond: number
  readonly addedOfPutBytes: number
  readonly addedBytes: number
}

export async function streamSoak(
  directory: string,
  seed: number,
  gib: number,
): Promise<StreamSoakReport> {
  const count = Math.ceil((gib * 2 ** 30) / BLOCK_BYTES)
  const blocks = () => blocksOf(seed, 0, count)
  const options = { durability: 'os' } as const
  await using store = await openStore(join(directory, 'store'), options)
  await store.put('first', blocksOf(seed + 1, 0, 4))
  await sha256Of(await store.getStream('first'))
  const meter = new Meter()
  const sourceMs = await meter.msOf(async () => {
    for await (const _block of blocks());
  })
  let sha256 = ''
  const sha256Ms = (await meter.msOf(async () => (sha256 = await sha256Of(blocks())))) - sourceMs
  const putMs = (await meter.msOf(() => store.put('long', meter.watch(blocks())))) - sourceMs
  const addedOfPutBytes = meter.addedBytes
  const getMs = await meter.msOf(async () => {
    for await (const _piece of meter.watch(await store.getStream('long')));
  })
  const { addedBytes } = meter
  assert.equal(await sha256Of(await store.getStream('long')), sha256)
  await requireRanges(store, seed, count)
  const target = join(directory, 'backup')
  await store.backup(target)
  assert.ok((await checkBackup(target, { readData: true })).isSound)
  const other = join(directory, 'other')
  await restoreBackup(target, other, options)
  await using restored = await openStore(other, options)
  assert.equal(await sha256Of(await restored.getStream('long')), sha256)
  assert.deepEqual((await restored.verify()).problems, [])
  const report = {
    gib,
    putSpeed: rounded(sha256Ms / putMs),
    getSpeed: rounded(sha256Ms / getMs),
    sha256MBPerSecond: Math.round((count * BLOCK_BYTES) / 1000 / sha256Ms),
    addedOfPutBytes,
    addedBytes,
  }
  assert.ok(addedBytes <= ADDED_BYTES_MAX, JSON.stringify(report))
  return report
}

const rounded = (number: number) => Math.round(number * 1000) / 1000

async function requireRanges(store: Store, seed: number, count: number): Promise<void> {
  const random = seededRandom(seed)
  for (let range = 0; range < RANGES; range++) {
    const start = Math.floor(random() * count * BLOCK_BYTES)
    const end = Math.min(count * BLOCK_BYTES, start + Math.ceil(random() * RANGE_BYTES_MAX))
    const first = Math.floor(start / BLOCK_BYTES)
    const around = await bytesOf(blocksOf(seed, first, Math.ceil(end / BLOCK_BYTES)))
    const wanted = around.subarray(start - first * BLOCK_BYTES, end - first * BLOCK_BYTES)
    const found = await bytesOf(await store.getStream('long', { start, end }))
    assert.ok(found.equals(wanted), `${start} to ${end}`)
  }
}
