/**
 * `prestige fingerprint`: what it writes, and that another engine finds the same pairs with it as the job does. The SQL is
 * that of the guide, read from it.
 */

import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { DuckDBInstance } from '@duckdb/node-api'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { canonicalProfile } from '../src/canonical/index.ts'
import {
  computeBands,
  equalSlots,
  jaccard,
  profilesOf,
  shingleHashes,
  sketchOf,
} from '../src/fingerprint/index.ts'
import { textNearSettings, TextScheme } from '../src/match/index.ts'
import { inProcess as prestige } from './children/cli.ts'
import { type Doc, jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'

const THRESHOLD = 0.7
const GUIDE = new URL('../docs/guides/billions.md', import.meta.url)
const GOLDEN = new URL('golden/sketches.json', import.meta.url)

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-sketches-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)

interface Row {
  readonly id: string
  readonly file: string
  readonly position: bigint
  readonly own: boolean
  readonly digest: Uint8Array
  readonly form: Uint8Array
  readonly bands: bigint[]
  readonly [name: string]: unknown
}

async function rowsIn(path: string): Promise<Row[]> {
  const bytes = readFileSync(path)
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
  return (await parquetReadObjects({ file, utf8: false })) as unknown as Row[]
}

/** Texts of some words, and versions of each with more and more of them replaced. */
function nearCorpus(): Doc[] {
  const text = textMaker(11)
  const other = textMaker(12)
  const docs: Doc[] = []
  for (let base = 0; base < 30; base++) {
    const words = text(20 + base * 6).split(' ')
    for (const replaced of [0, 1, 2, 3, 5, 8]) {
      const version = [...words]
      for (let n = 0; n < replaced; n++) version[(n * 17 + base) % version.length] = other(1)
      const written = version.join(base % 4 === 0 && replaced === 0 ? '  ' : ' ')
      docs.push({ id: `${base}-${replaced}`, text: written })
    }
    if (base % 3 === 0) docs.push({ id: `${base}-again`, text: words.join(' ') })
  }
  const short = ['Ja.', 'Nein.', '今天天气很好我们一起去公园散步', 'Ж'].map((one, n) => ({
    id: `short-${n}`,
    text: one,
  }))
  return [...docs, ...short, { id: 'short-again', text: '今天天气很好我们一起去公园散步!' }]
}

interface Pair {
  readonly first: string
  readonly second: string
  readonly similarity: number
}

const named = ({ first, second, similarity }: Pair) =>
  `${first} ${second} ${similarity.toFixed(12)}`

/** The statements of the guide, in a directory with the file that they name. */
async function sqlPairs(sketches: string): Promise<Pair[]> {
  const blocks = readFileSync(GUIDE, 'utf8')
    .split('## In Spark SQL')[0]!
    .matchAll(/```sql\n(.*?)```/gs)
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  let rows: Pair[] = []
  for (const [, block = ''] of blocks) {
    for (const statement of block.split(';').filter((one) => one.trim() !== '')) {
      const result = await connection.runAndReadAll(
        statement.replaceAll("'sketches.parquet'", `'${sketches}'`),
      )
      if (result.columnNames().includes('similarity')) {
        rows = result.getRowObjects() as unknown as Pair[]
      }
    }
  }
  connection.closeSync()
  instance.closeSync()
  return rows
}

/** Every pair that shares a band, is estimated high enough and measures up, by our own code. */
function ownPairs(docs: readonly Doc[]): Pair[] {
  const { canonicalise } = canonicalProfile('unicode')
  const settings = textNearSettings({ similarityMin: THRESHOLD, evidence: 'text' })
  const { slots, bands, rows, profile } = settings
  const scheme = new TextScheme(slots, settings)
  const known = docs.map((doc) => {
    const form = canonicalise(Buffer.from(doc.text))
    const sketches = profilesOf(form, profile, THRESHOLD).map((one) => ({
      profile: one,
      sketch: sketchOf(form, { profile: one, slots }),
      hashes: shingleHashes(form, one),
    }))
    return { id: doc.id, sketches }
  })
  const pairs: Pair[] = []
  for (const [n, second] of known.entries()) {
    for (const first of known.slice(0, n)) {
      const own = first.sketches[0]!
      const same = second.sketches.find((one) => one.profile === own.profile)
      if (!same || own.sketch.isEmpty || same.sketch.isEmpty) continue
      const [ours, theirs] = [own, same].map(({ sketch }) =>
        computeBands(sketch.slots, bands, rows),
      )
      if (!ours!.some((key, band) => key === theirs![band])) continue
      const estimate = equalSlots(own.sketch.slots, same.sketch.slots) / slots
      if (estimate < scheme.estimateMin(THRESHOLD)) continue
      const similarity = jaccard(own.hashes, same.hashes)
      const isSmall = Math.min(own.hashes.length, same.hashes.length) < 4
      if (similarity >= THRESHOLD && (!isSmall || similarity === 1)) {
        pairs.push({ first: first.id, second: second.id, similarity })
      }
    }
  }
  return pairs
}

describe('fingerprints in a Parquet file', () => {
  it('have the values that they had in every version', async () => {
    writeFiles(at('in'), {
      'a.jsonl': jsonl([
        { id: 'é', text: 'The old mill by the river was built in 1712.', site: 'x' },
        { id: 'no text' },
        { text: 'THE OLD  MILL by the river was built in 1712.' },
      ]),
      'b/c.txt': '今天天气很好我们一起去公园散步',
    })
    const out = at('s.parquet')
    const run = await prestige([
      'fingerprint',
      at('in'),
      '-o',
      out,
      '--source',
      'corpus',
      '--evidence',
      'hashes',
      '--json',
    ])
    expect(run.json).toMatchObject({ documents: 3, rejected: 1, file: out })
    expect(run.err).toContain('1 piece of input is not a document: a.jsonl, line 2')
    const rows = (await rowsIn(out)).map((row) =>
      Object.assign(row, {
        position: Number(row.position),
        bytes: Number(row['bytes']),
        digest: Buffer.from(row.digest).toString('hex'),
        form: Buffer.from(row.form).toString('hex'),
        bands: row.bands.map(String),
      }),
    )
    const metadata = parquetMetadata(new Uint8Array(readFileSync(out)).buffer).key_value_metadata
    const { version: _version, ...settings } = JSON.parse(metadata?.[0]?.value ?? '{}')
    expect({ settings, rows }).toEqual(JSON.parse(readFileSync(GOLDEN, 'utf8')))
  })

  it('are the same for one file in pieces as in many ranges, and leave out what was not asked for', async () => {
    const docs = nearCorpus()
    writeFiles(at('in'), { 'a.jsonl': jsonl(docs) })
    writeFiles(directory, { 'c.yaml': 'input: { shardBytes: 5000 }\n' })
    await prestige(['fingerprint', at('in'), '-o', at('one.parquet'), '-q'])
    await prestige([
      'fingerprint',
      at('in'),
      '-o',
      at('many.parquet'),
      '-q',
      '--config',
      at('c.yaml'),
    ])
    const [one, many] = [await rowsIn(at('one.parquet')), await rowsIn(at('many.parquet'))]
    expect(many).toEqual(one)
    expect(one.filter(({ own }) => own).map(({ position }) => Number(position))).toEqual(
      docs.map((_, n) => n),
    )
    expect(one[0]).not.toHaveProperty('hashes')
  })

  it('are not written half: what is not there, or no document, is refused by name', async () => {
    const missing = await prestige(['fingerprint', at('none'), '-o', at('x.parquet')])
    expect([missing.code, missing.err]).toEqual([3, expect.stringContaining('is not there')])
    writeFiles(at('in'), { 'a.jsonl': 'no json\n' })
    const strict = await prestige(['fingerprint', at('in'), '-o', at('x.parquet'), '--strict'])
    expect(strict.code).toBe(2)
    const without = await prestige(['fingerprint', at('in')])
    expect(without.err).toContain('-o sketches.parquet')
    const { existsSync } = await import('node:fs')
    expect(existsSync(at('x.parquet'))).toBe(false)
    const nothing = await prestige(['fingerprint', at('in'), '-o', at('y.parquet')])
    expect(nothing.code).toBe(1)
  })
})

describe('the queries of the guide', () => {
  it('find the pairs that our own code finds, and the decisions of the job follow from them', async () => {
    const docs = nearCorpus()
    writeFiles(at('in'), { 'a.jsonl': jsonl(docs) })
    const threshold = ['--threshold', String(THRESHOLD)]
    const out = at('sketches.parquet')
    await prestige(['fingerprint', at('in'), '-o', out, '--evidence', 'hashes', '-q', ...threshold])
    expect((await rowsIn(out)).some(({ own }) => !own)).toBe(true)
    const pairs = await sqlPairs(out)
    const own = ownPairs(docs)
    expect(own.length).toBeGreaterThan(200)
    expect(own.some(({ similarity }) => similarity < 0.75)).toBe(true)
    expect(pairs.map(named).toSorted()).toEqual(own.map(named).toSorted())

    await prestige(['dedupe', at('in'), '-o', at('out'), '-q', '--no-guards', ...threshold])
    const kept = new Set(linesOf(at('out/kept/a.jsonl')).map(({ id }) => id))
    const lines = new Map(linesOf(at('out/duplicates.jsonl')).map((line) => [line.id, line]))
    for (const { id } of docs) {
      const found = pairs.filter(({ first, second }) => second === id && kept.has(first))
      const most = Math.max(0, ...found.map(({ similarity }) => similarity))
      const line = lines.get(id)
      if (line?.method === 'exact' || line?.method === 'canonical') continue
      expect(kept.has(id), id).toBe(found.length === 0)
      if (found.length === 0) continue
      expect(line.similarity, id).toBeCloseTo(most, 12)
      expect(
        found.filter(({ similarity }) => similarity === most).map(({ first }) => first),
      ).toContain(line.of.id)
    }
  })
})
