/**
 * What do long values take that have much in common, and what does a long stream cost? Versions of one file, a file with
 * one byte changed, licences that are nearly the same, and a stream beside SHA-256 of the same bytes alone.
 *
 * Versions are installed from the registry for this, into a directory that is removed at the end.
 */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

import { openStore, type StoreOptions } from 'prestige-dedup'

import { noise } from './harness/data.ts'
import { anonymousBytes } from './harness/measure.ts'

const VERSIONS = [
  '5.4.2',
  '5.4.3',
  '5.4.4',
  '5.4.5',
  '5.5.2',
  '5.5.3',
  '5.5.4',
  '5.6.2',
  '5.6.3',
  '5.7.2',
  '5.7.3',
  '5.8.2',
  '5.8.3',
  '5.9.2',
  '5.9.3',
] as const
const STREAM_BYTES = 4 * 2 ** 30
const BLOCK_BYTES = 2 ** 20
const MODULES = fileURLToPath(new URL('../node_modules', import.meta.url))

type Print = (line: Readonly<Record<string, unknown>>) => void

export async function benchChunks(scale: number, print: Print): Promise<void> {
  await oneByteChanged(print)
  await licences(print)
  for (const bytes of [2000, 20_000, 60_000]) await alike(50, bytes, print)
  await stream(Math.round(STREAM_BYTES * scale), 'random', print)
  await stream(Math.round(STREAM_BYTES * scale), 'repeated', print)
  await versions(VERSIONS.length, print)
}

async function inDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-chunks-'))
  try {
    return await work(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const diskBytesOf = (directory: string) => statSync(join(directory, 'data.mdb')).blocks * 512

/** What is stored of some values, by name. */
async function stored(values: Iterable<readonly [string, Buffer]>, options: StoreOptions = {}) {
  return inDirectory(async (directory) => {
    const store = await openStore(directory, { durability: 'os', ...options })
    const started = process.cpuUsage()
    for (const [key, value] of values) await store.put(key, value)
    const { user, system } = process.cpuUsage(started)
    const { valueBytes, storedBytes } = await store.stats()
    await store.close()
    const diskBytes = diskBytesOf(directory)
    return { valueBytes, storedBytes, diskBytes, cpuMs: Math.round((user + system) / 1000) }
  })
}

const rounded = (number: number) => Math.round(number * 100) / 100

async function versions(count: number, print: Print): Promise<void> {
  await inDirectory(async (directory) => {
    const files = VERSIONS.slice(0, count).map((version): readonly [string, Buffer] => {
      const prefix = join(directory, version)
      const args = ['install', `typescript@${version}`, '--prefix', prefix, '--ignore-scripts']
      execFileSync('npm', [...args, '--no-audit', '--no-fund', '--silent'], { stdio: 'ignore' })
      const path = join(prefix, 'node_modules/typescript/lib/typescript.js')
      return [version, readFileSync(path)]
    })
    for (const compression of ['fast', 'small'] as const) {
      const sums = await stored(files, { compression })
      const { valueBytes, storedBytes, diskBytes } = sums
      const ratio = rounded(valueBytes / storedBytes)
      const diskRatio = rounded(valueBytes / diskBytes)
      const name = `${count} versions of typescript.js, ${compression}`
      print({ bench: 'chunks', case: name, ...sums, ratio, diskRatio, isWithin: ratio >= 13 })
    }
  })
}

async function oneByteChanged(print: Print): Promise<void> {
  const value = noise(20_000_000, 1)
  const changed = Buffer.from(value)
  changed[10_000_000] = (changed[10_000_000] ?? 0) ^ 1
  const one = await stored([['a', value]])
  const both = await stored([
    ['a', value],
    ['b', changed],
  ])
  const moreBytes = both.storedBytes - one.storedBytes
  const isWithin = moreBytes <= 64 * 1024
  print({ bench: 'chunks', case: '20 MB with one byte changed', moreBytes, isWithin })
}

async function licences(print: Print): Promise<void> {
  const names = readdirSync(MODULES, { recursive: true, encoding: 'utf8' })
  const files = names
    .filter((name) => /(^|[/])LICEN[SC]E(\.(md|txt))?$/i.test(name))
    .map((name): readonly [string, Buffer] => [name, readFileSync(join(MODULES, name))])
  const gzipBytes = files.reduce((sum, [, value]) => sum + gzipSync(value).byteLength, 0)
  const kinds: readonly (readonly [string, StoreOptions])[] = [
    ['as they are', {}],
    ['in chunks of 256 bytes', { chunks: { fromBytes: 64, averageBytes: 256 } }],
    ['linked, without deltas', { dedup: 'near', deltas: false }],
    ['linked, with deltas', { dedup: 'near' }],
  ]
  for (const [name, options] of kinds) {
    const sums = await stored(files, options)
    const ratio = rounded(gzipBytes / sums.storedBytes)
    const isWithin = ratio >= (name === 'linked, with deltas' ? 3 : 1)
    const count = files.length
    print({ bench: 'chunks', case: `licences ${name}`, count, ...sums, gzipBytes, ratio, isWithin })
  }
}

/** Texts of which a tenth, in one place, is of their own. */
async function alike(count: number, bytes: number, print: Print): Promise<void> {
  const words = (seed: number, length: number) =>
    noise(4 * length, seed)
      .toString('base64')
      .replaceAll(/[+/]/g, ' ')
      .slice(0, length)
  const base = words(1, bytes)
  const files = Array.from({ length: count }, (_, at): readonly [string, Buffer] => {
    const from = Math.floor((0.9 * bytes * at) / count)
    const own = words(at + 2, at === 0 ? 0 : bytes / 10)
    return [`text ${at}`, Buffer.from(base.slice(0, from) + own + base.slice(from + own.length))]
  })
  const [first] = files
  const one = first ? await stored([first], { dedup: 'near' }) : undefined
  for (const deltas of [false, true]) {
    const sums = await stored(files, { dedup: 'near', deltas })
    const more = (sums.storedBytes - (one?.storedBytes ?? 0)) / (count - 1)
    const share = rounded(more / bytes)
    const name = `${count} texts of ${bytes} bytes, 90 % alike${deltas ? '' : ', without deltas'}`
    print({ bench: 'chunks', case: name, ...sums, share, isWithin: !deltas || share <= 0.13 })
  }
}

/** Random, or 64 MiB of random bytes again and again: then all chunks but the first are known. */
async function* blocksOf(bytes: number, kind: 'random' | 'repeated'): AsyncGenerator<Buffer> {
  const period = 64
  const known = kind === 'repeated' ? noise(period * BLOCK_BYTES, 7) : undefined
  const fresh = noise(BLOCK_BYTES, 8)
  for (let block = 0; block * BLOCK_BYTES < bytes; block++) {
    const at = (block % period) * BLOCK_BYTES
    // Every block is another: its words are those of one block, moved by its number.
    if (known) yield known.subarray(at, at + BLOCK_BYTES)
    else yield scrambled(fresh, block)
  }
}

function scrambled(block: Buffer, number: number): Buffer {
  const words = new Uint32Array(block.buffer, block.byteOffset, block.length / 4)
  const others = new Uint32Array(words.length)
  const key = Math.imul(number + 1, 0x9e3779b1)
  for (let at = 0; at < words.length; at++)
    others[at] = Math.imul((words[at] ?? 0) ^ key, 0x85ebca6b)
  return Buffer.from(others.buffer)
}

async function stream(bytes: number, kind: 'random' | 'repeated', print: Print): Promise<void> {
  const source = await timed(async () => {
    for await (const _block of blocksOf(bytes, kind));
  })
  const alone = await timed(async () => {
    const sha256 = createHash('sha256')
    for await (const block of blocksOf(bytes, kind)) sha256.update(block)
    sha256.digest()
  })
  await inDirectory(async (directory) => {
    const store = await openStore(directory, { durability: 'os' })
    await store.put('warm', noise(1_000_000, 9))
    globalThis.gc?.()
    const before = anonymousBytes()
    let peakBytes = 0
    let blocks = 0
    const watched = async function* () {
      for await (const block of blocksOf(bytes, kind)) {
        if (blocks++ % 64 === 0) {
          peakBytes = Math.max(peakBytes, anonymousBytes() - before)
        }
        yield block
      }
    }
    const put = await timed(() => store.put('a', watched()))
    const { storedBytes } = await store.stats()
    const putPeakBytes = peakBytes
    peakBytes = 0
    const get = await timed(async () => {
      for await (const _piece of (await store.getStream('a')) ?? []) {
        if (blocks++ % 64 === 0) peakBytes = Math.max(peakBytes, anonymousBytes() - before)
      }
    })
    await store.close()
    const perSecond = (ms: number) => Math.round(bytes / 1e6 / (ms / 1000))
    const shaMs = alone.wallMs - source.wallMs
    const ownMs = put.wallMs - source.wallMs
    const speed = rounded(shaMs / ownMs)
    const cpuRatio = rounded((put.cpuMs - source.cpuMs) / (alone.cpuMs - source.cpuMs))
    print({
      bench: 'chunks',
      case: `stream of ${Math.round(bytes / 2 ** 20)} MiB, ${kind}`,
      putMBPerSecond: perSecond(ownMs),
      sha256MBPerSecond: perSecond(shaMs),
      getMBPerSecond: perSecond(get.wallMs),
      speed,
      cpuRatio,
      addedMemoryBytes: putPeakBytes,
      addedMemoryOfGetBytes: peakBytes,
      storedBytes,
      isWithin: speed >= 0.5 && Math.max(putPeakBytes, peakBytes) <= 64 * 2 ** 20,
    })
  })
}

async function timed(work: () => Promise<unknown>): Promise<{ wallMs: number; cpuMs: number }> {
  const cpu = process.cpuUsage()
  const started = performance.now()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { wallMs: performance.now() - started, cpuMs: (user + system) / 1000 }
}
