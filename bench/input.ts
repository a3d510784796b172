/**
 * What does reading documents cost beside the bare work it cannot avoid?
 *
 * The reference of JSONL is a scan for newlines and JSON.parse of each line, of the same file in the same run;
 * of CSV and Parquet it is the library that most would use. Rates are of uncompressed bytes per second of CPU.
 */

import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'

import { parse } from 'csv-parse/sync'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'

import { listShards, openWriter, readShard } from '../src/input/index.ts'
import { randomWords } from '../src/fingerprint/mix.ts'
import { compare, type PureResult, rounded } from './harness/pure.ts'

const EFFORT = { warmUps: 2, rounds: 7 }
const BLOCK_BYTES = 1024 * 1024
/** At least 60 % of the rate of JSON.parse. */
const JSONL_RATIO_MAX = 1 / 0.6

/** Half of them in Latin letters alone, as in corpora of the web. */
function documents(bytes: number): { id: string; text: string; url: string }[] {
  const next = randomWords(7)
  const made: { id: string; text: string; url: string }[] = []
  for (let size = 0; size < bytes;) {
    const isPlain = made.length % 2 === 0
    const words = Array.from({ length: 100 + (next() % 900) }, () => {
      const word = (next() % 100_000).toString(36)
      return isPlain || next() % 8 > 0 ? word : `é${word}नम`
    })
    const text = words.join(' ')
    made.push({
      id: `doc-${made.length}`,
      text: `${text}\n"${text.slice(0, 50)}"`,
      url: `https://e.example/${made.length}`,
    })
    size += text.length
  }
  return made
}

async function read(file: string): Promise<number> {
  let count = 0
  const { shards } = await listShards([file], { countLines: false })
  for (const shard of shards) for await (const batch of readShard(shard)) count += batch.length
  return count
}

function parseLines(bytes: Buffer): number {
  let count = 0
  let start = 0
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    const value = JSON.parse(bytes.toString('utf8', start, end))
    if (value.text.length > 0) count++
    start = end + 1
  }
  return count
}

/** Blocks of a file, and JSON.parse of the lines that lie within one: the rest is not worth a millionth. */
function bareScan(file: string): number {
  const fd = openSync(file, 'r')
  const block = Buffer.allocUnsafe(BLOCK_BYTES)
  let count = 0
  for (let at = 0; ;) {
    const got = readSync(fd, block, 0, BLOCK_BYTES, at)
    if (got === 0) break
    const end = block.lastIndexOf(10, got - 1) + 1
    count += parseLines(block.subarray(0, end))
    at += end
  }
  closeSync(fd)
  return count
}

async function rewrite(file: string, directory: string): Promise<void> {
  const { shards } = await listShards([file], { countLines: false })
  const writer = await openWriter(shards[0]!, { directory })
  for (const shard of shards) {
    const kept: number[] = []
    for await (const batch of readShard(shard))
      for (const { position } of batch) kept.push(position)
    await writer.writeKept(kept, shard)
  }
  await writer.close()
}

interface Case {
  readonly name: string
  readonly bytes: number
  readonly ours: () => unknown
  readonly referenceName: string
  readonly reference: () => unknown
  readonly ratioMax?: number
}

async function run(one: Case): Promise<PureResult> {
  const side = (work: () => unknown) => ({ ops: 1, run: work })
  const compared = await compare(side(one.ours), side(one.reference), EFFORT)
  return {
    bench: 'input',
    case: one.name,
    ...compared,
    megabytesPerSecond: rounded(one.bytes / compared.cpuMicrosPerOp),
    reference: one.referenceName,
    ...(one.ratioMax !== undefined && { isWithin: compared.ratio <= one.ratioMax }),
  }
}

function cases(directory: string, megabytes: number): Case[] {
  const made = documents(megabytes * 1e6)
  const lines = made.map((one) => `${JSON.stringify(one)}\n`).join('')
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
  const csv = `id,text,url\n${made.map(({ id, text, url }) => `${id},${quote(text)},${url}\n`).join('')}`
  const columnData = (['id', 'text', 'url'] as const).map((name) => ({
    name,
    data: made.map((one) => one[name]),
    type: 'STRING' as const,
  }))
  const at = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(directory, name), content)
    return join(directory, name)
  }
  const jsonl = at('a.jsonl', lines)
  const gz = at('b.jsonl.gz', gzipSync(lines))
  const table = at('c.csv', csv)
  const parquet = at('d.parquet', Buffer.from(parquetWriteBuffer({ columnData })))
  const bytes = Buffer.byteLength(lines)
  const scan = 'scan and JSON.parse'
  const viaHyparquet = async () =>
    parquetReadObjects({ file: await asyncBufferFromFile(parquet), columns: ['id', 'text'] })
  return [
    {
      name: 'JSONL',
      bytes,
      ours: () => read(jsonl),
      referenceName: scan,
      reference: () => bareScan(jsonl),
      ratioMax: JSONL_RATIO_MAX,
    },
    {
      name: 'JSONL, gzip',
      bytes,
      ours: () => read(gz),
      referenceName: `gunzipSync, ${scan}`,
      reference: () => parseLines(gunzipSync(readFileSync(gz))),
    },
    {
      name: 'CSV',
      bytes: Buffer.byteLength(csv),
      ours: () => read(table),
      referenceName: 'csv-parse',
      reference: () => parse(readFileSync(table)),
    },
    {
      name: 'Parquet, Snappy',
      bytes,
      ours: () => read(parquet),
      referenceName: 'hyparquet',
      reference: viaHyparquet,
    },
    {
      name: 'JSONL, read and written again',
      bytes,
      ours: () => rewrite(jsonl, join(directory, 'out')),
      referenceName: scan,
      reference: () => bareScan(jsonl),
    },
  ]
}

export async function benchInput(
  scale: number,
  print: (result: PureResult) => void,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-bench-input-'))
  try {
    for (const one of cases(directory, 64 * scale)) print(await run(one))
  } finally {
    rmSync(directory, { recursive: true })
  }
}
