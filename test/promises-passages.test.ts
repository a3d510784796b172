/** What the corpus job promises with passages: boilerplate that enough documents share is cut, and nothing else. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'

import fc from 'fast-check'
import { parquetReadObjects } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterEach, describe, expect, it } from 'vitest'

import { MemoryBackend } from '../src/backends/memory/backend.ts'
import type { Backend } from '../src/backends/index.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { restoreText } from '../src/exports/report.ts'
import { type DedupeOptions, type Job, openDedupe } from '../src/index.ts'
import { passageCounts, passageCuts, passageFiles } from '../src/dedupe/rows.ts'
import { inProcess as prestige } from './children/cli.ts'
import { jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'

const made: string[] = []
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true })
})

function directoryWith(files: Record<string, string | Uint8Array>): string {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-passages-'))
  made.push(directory)
  writeFiles(directory, files)
  return directory
}

const N = 4
const CUT: DedupeOptions = { passages: { action: 'cut', documentsMin: N } }
const make = textMaker(17)

async function run(directory: string, job: Partial<Job> = {}, options = CUT) {
  const deduper = await openDedupe(join(directory, 'state'), { ...options, durability: 'os' })
  try {
    const inputs = [join(directory, 'in')]
    return await deduper.run({ inputs, out: join(directory, 'out'), run: 'r', ...job })
  } finally {
    await deduper.close()
  }
}

const HEADER = 'यह वेबसाइट आपके अनुभव को बेहतर बनाने के लिए कुकीज़ का उपयोग करती है 🍪।'
const NOTICE = 'We use cookies (and the like) to give you the best experience; read our policy.'
const FOOTER =
  '© 2024 本網站內容未經許可不得轉載或以任何方式使用，違者必究。 جميع الحقوق محفوظة لأصحابها'
const shouted = NOTICE.toUpperCase().replaceAll(' ', '\t ')

/** A document with planted boilerplate, and what must be left of it. */
function planted(at: number): { id: string; text: string; left: string } {
  const [one, two] = [`${make(20)} 👋🏽 ${make(9)}.`, `"${make(20)}" 東京 👩‍👩‍👧 ${make(9)}`]
  const notice = at % 2 === 0 ? NOTICE : shouted
  const text = `${HEADER}\n\n${one} ${notice} ${two}\n\n${FOOTER}\n`
  return { id: `d${at}`, text, left: `${one} ${two}\n` }
}

const plantedDocs = Array.from({ length: N }, (_, at) => planted(at))
const plain = Array.from({ length: 5 }, (_, at) => ({ id: `p${at}`, text: make(60) }))
const left = [...plantedDocs.map((doc) => doc.left), ...plain.map(({ text }) => text)]
const docs = [...plantedDocs.map(({ id, text }) => ({ id, text })), ...plain]

function passagesIn(directory: string, name = 'r') {
  const lines = linesOf(join(directory, 'out/runs', name, 'passages.jsonl'))
  const texts = new Map(lines.flatMap(({ passage, text }) => (passage ? [[passage, text]] : [])))
  return { passages: texts, documents: lines.filter(({ spans }) => spans) }
}

/** Every listed document is the original, restored from what was written. */
function expectRestored(directory: string, writtenOf: (id: string) => string): void {
  const { passages, documents } = passagesIn(directory)
  expect(documents).toHaveLength(N)
  for (const { id, cut, spans } of documents) {
    expect(cut).toBe(true)
    const original = docs.find((doc) => doc.id === id)?.text ?? ''
    for (const { start, end, passage } of spans) {
      expect(Buffer.from(original).subarray(start, end).toString()).toBe(passages.get(passage))
    }
    expect(restoreText(writtenOf(id), spans, passages)).toBe(original)
  }
}

describe('planted boilerplate', () => {
  it('is cut from JSONL, and the other fields stay byte for byte', async () => {
    const line = (text: string, at: number) =>
      `{"id": "${docs[at]?.id}", "n":1.0, "text":${JSON.stringify(text)}}\n`
    const directory = directoryWith({
      'in/a.jsonl.gz': gzipSync(docs.map(({ text }, at) => line(text, at)).join('')),
    })
    const { notes } = await run(directory)
    expect(notes[0]).toMatch(
      /^Cut \d+ passages from 4 documents \([\d,]+ bytes\)\. What was cut is in runs\/r\/passages\.jsonl\.$/,
    )
    const written = gunzipSync(readFileSync(join(directory, 'out/kept/a.jsonl.gz'))).toString()
    expect(written).toBe(left.map(line).join(''))
    expectRestored(directory, (id) => left[docs.findIndex((doc) => doc.id === id)] ?? '')
  })

  it.each([
    ['csv', ','],
    ['tsv', '\t'],
  ])('is cut from %s', async (format, delimiter) => {
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
    const row = (text: string, at: number) => [docs[at]?.id, quoted(text)].join(delimiter)
    const input = docs.map(({ text }, at) => row(text, at))
    const directory = directoryWith({
      [`in/a.${format}`]: `${['id', 'text'].join(delimiter)}\n${input.join('\n')}\n`,
    })
    await run(directory)
    const written = readFileSync(join(directory, `out/kept/a.${format}`), 'utf8')
    for (const [at, text] of left.entries()) expect(written).toContain(`${row(text, at)}\n`)
    expectRestored(directory, (id) => left[docs.findIndex((doc) => doc.id === id)] ?? '')
  })

  it('is cut from Parquet, files and lines', async () => {
    const buffer = parquetWriteBuffer({
      columnData: [
        { name: 'id', data: docs.map(({ id }) => id), type: 'STRING' },
        { name: 'text', data: docs.map(({ text }) => text), type: 'STRING' },
      ],
      rowGroupSize: 2,
    })
    const parquet = directoryWith({ 'in/a.parquet': new Uint8Array(buffer) })
    await run(parquet)
    const bytes = readFileSync(join(parquet, 'out/kept/a.parquet'))
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
    expect((await parquetReadObjects({ file })).map(({ text }) => text)).toEqual(left)

    const files = directoryWith(
      Object.fromEntries(docs.map(({ id, text }) => [`in/${id}.txt`, text])),
    )
    await run(files)
    const kept = docs.map(({ id }) => readFileSync(join(files, `out/kept/${id}.txt`), 'utf8'))
    expect(kept).toEqual(left)

    // In the middle of a line, a mark that touches neither side stays.
    const asLine = (text: string) => text.replace('© ', '').replaceAll('\n', ' ').trim()
    const lines = directoryWith({
      'in/a.txt': docs.map(({ text }) => `${asLine(text)}\n`).join(''),
    })
    await run(lines, { listing: { format: 'lines' } })
    const written = readFileSync(join(lines, 'out/kept/a.txt'), 'utf8').split('\n').filter(Boolean)
    expect(written.map((line) => line.trim())).toEqual(left.map(asLine))
  })

  it('is only listed, in bytes of the original text, with action list', async () => {
    const directory = directoryWith({ 'in/a.jsonl': jsonl(docs) })
    const list: DedupeOptions = { passages: { action: 'list', documentsMin: N } }
    const { notes } = await run(directory, {}, list)
    expect(notes).toEqual([expect.stringMatching(/^Found \d+ passages in 4 documents/)])
    expect(readFileSync(join(directory, 'out/kept/a.jsonl'), 'utf8')).toBe(jsonl(docs))
    const { documents, passages } = passagesIn(directory)
    expect(documents).toHaveLength(N)
    expect(documents.map(({ cut, spans }) => [cut, spans.length])).toEqual(
      documents.map(() => [false, 3]),
    )
    const [first] = documents[0].spans
    expect(passages.get(first.passage)).toBe(`${HEADER}\n\n`)
  })

  it('that one document fewer has is left, and so is what is a word too short', async () => {
    const short = Array.from({ length: 12 }, (_, at) => ({
      id: `s${at}`,
      text: `${make(30)}\nthese eleven words are in each of the short documents here\n${make(30)}`,
    }))
    const input = jsonl([...docs.slice(1), ...short])
    const directory = directoryWith({ 'in/a.jsonl': input })
    const { notes } = await run(directory)
    expect(notes).toEqual(['No passage of 12 words or more is in 4 kept documents or more.'])
    expect(readFileSync(join(directory, 'out/kept/a.jsonl'), 'utf8')).toBe(input)
  })

  it('is no reason to drop a document that has nothing else: it is kept whole', async () => {
    const whole = { id: 'whole', text: `  ${NOTICE}\n` }
    const directory = directoryWith({ 'in/a.jsonl': jsonl([...docs, whole]) })
    const { notes } = await run(directory)
    expect(notes[1]).toContain('1 document with nothing but such passages is kept whole')
    expect(linesOf(join(directory, 'out/kept/a.jsonl')).at(-1)).toEqual(whole)
    expect(passagesIn(directory).documents.at(-1)).toMatchObject({
      id: 'whole',
      cut: false,
      reason: 'nothing-left',
    })
  })

  it('is not what duplicates share: those that are kept count once', async () => {
    const text = make(60)
    const copies = Array.from({ length: 9 }, (_, at) => ({
      id: `c${at}`,
      text: `${text} ${make(2)}`,
    }))
    const directory = directoryWith({ 'in/a.jsonl': jsonl(copies) })
    const options: DedupeOptions = { ...CUT, near: { action: 'link' }, exact: { action: 'link' } }
    const { summary } = await run(directory, {}, options)
    expect(summary).toMatchObject({ kept: 1, linked: 8 })
    expect(readFileSync(join(directory, 'out/kept/a.jsonl'), 'utf8')).toBe(jsonl(copies))
  })
})

describe('lines of code and logs', () => {
  it('are cut as whole lines, and shared words within lines are left', async () => {
    const licence =
      '/*\n * Copyright the authors of this program, all rights reserved.\n * Use it as you like, without any warranty.\n */\n'
    const code = (at: number) => `\n  const x${at} = "${make(12)}" // ${NOTICE}\n\treturn x${at}\n`
    const files = Array.from(
      { length: N },
      (_, at) => [`in/${at}.txt`, `${licence}${code(at)}`] as const,
    )
    const directory = directoryWith(Object.fromEntries(files))
    await run(directory, {}, { passages: { ...CUT.passages, by: 'lines' } })
    for (const [at, [name, text]] of files.entries()) {
      const written = readFileSync(join(directory, 'out/kept', `${at}.txt`), 'utf8')
      expect(`${licence}\n${written}`, name).toBe(text)
    }
  })
})

describe('documents without boilerplate', () => {
  it('are never cut: 10,000 of them come out as they went in', async () => {
    const text = textMaker(99)
    const many = Array.from({ length: 10_000 }, (_, at) => ({ id: at, text: text(24) }))
    const directory = directoryWith({ 'in/a.jsonl': jsonl(many) })
    const options: DedupeOptions = { ...CUT, near: { enabled: false } }
    const { notes, summary } = await run(directory, {}, options)
    expect(summary.kept).toBe(10_000)
    expect(notes).toEqual(['No passage of 12 words or more is in 4 kept documents or more.'])
    expect(readFileSync(join(directory, 'out/kept/a.jsonl'), 'utf8')).toBe(jsonl(many))
  })
})

describe('several runs', () => {
  type RunOf = (name: string, run?: string) => Promise<readonly string[]>
  type Use = (
    runOf: RunOf,
    undo: (run: string) => Promise<unknown>,
    directory: string,
    backend: Backend,
  ) => Promise<void>

  async function withRuns(use: Use, files: Record<string, string>): Promise<void> {
    const directory = directoryWith(files)
    const deduper = await openDedupe(join(directory, 'state'), { ...CUT, durability: 'os' })
    const runOf: RunOf = async (name, run = name.slice(0, 1)) => {
      const inputs = [join(directory, name)]
      const listing = { root: directory }
      return (await deduper.run({ inputs, listing, out: join(directory, 'out'), run })).notes
    }
    await use(runOf, (name) => deduper.undo(name), directory, deduper.backend)
    await deduper.close()
  }
  const keptIn = (directory: string, name: string) =>
    linesOf(join(directory, 'out/kept', name)).map(({ text }) => String(text))

  it('count on: what earlier runs had is cut where there is enough of it, and later', async () => {
    const [a, b, c] = [docs.slice(0, 2), docs.slice(2, 4), [planted(9)]]
    await withRuns(
      async (runOf, _undo, directory) => {
        expect(await runOf('a.jsonl')).toEqual([expect.stringContaining('No passage')])
        expect((await runOf('b.jsonl')).at(-1)).toMatch(
          /^Documents of earlier runs \(a\) still have/,
        )
        expect(await runOf('c.jsonl')).toEqual([expect.stringContaining('from 1 document')])
        expect(keptIn(directory, 'a.jsonl')).toEqual(a.map(({ text }) => text))
        expect(keptIn(directory, 'b.jsonl')).toEqual(left.slice(2, 4))
        expect(keptIn(directory, 'c.jsonl')).toEqual(c.map((doc) => doc.left))
      },
      { 'a.jsonl': jsonl(a), 'b.jsonl': jsonl(b), 'c.jsonl': jsonl(c) },
    )
  })

  it('that are undone take their counts back', async () => {
    await withRuns(
      async (runOf, undo, directory, backend) => {
        await runOf('a.jsonl')
        await undo('a')
        for (const space of [passageCounts, passageFiles, passageCuts]) {
          for await (const { key } of backend.scan<unknown>(space)) expect(key).toBeUndefined()
        }
        expect(await runOf('b.jsonl')).toEqual([expect.stringContaining('No passage')])
        expect(keptIn(directory, 'b.jsonl')).toEqual([docs[N - 1]?.text])
      },
      { 'a.jsonl': jsonl(docs.slice(0, N - 1)), 'b.jsonl': jsonl(docs.slice(N - 1, N)) },
    )
  })

  it('count the documents of a file once, also when it has changed', async () => {
    const three = docs.slice(0, N - 1)
    const changed = three.map(({ id, text }) => ({ id, text: `${text} ${make(90)}` }))
    await withRuns(
      async (runOf, _undo, directory) => {
        await runOf('a.jsonl')
        writeFiles(directory, { 'a.jsonl': jsonl(changed) })
        expect(await runOf('a.jsonl', 'again')).toEqual([expect.stringContaining('No passage')])
        await runOf('b.jsonl')
        expect(keptIn(directory, 'b.jsonl')).toEqual([left[N - 1]])
        // What is not counted is cut as everything else.
        writeFiles(directory, { 'a.jsonl': jsonl([...changed, ...plain]) })
        await runOf('a.jsonl', 'later')
        expect(keptIn(directory, 'a.jsonl').filter((text) => text.includes(HEADER))).toEqual([])
      },
      { 'a.jsonl': jsonl(three), 'b.jsonl': jsonl(docs.slice(N - 1, N)) },
    )
  })
})

describe('a run that cuts', () => {
  /** Fails for good after so many writes. */
  function dying(backend: Backend, writes: number): Backend {
    let done = 0
    const run: Backend['run'] = async (...args) => {
      if (done++ >= writes) throw new Error('killed')
      return backend.run(...args)
    }
    const rest = { limits: backend.limits, serial: backend.serial, now: () => backend.now() }
    return {
      ...rest,
      read: (...args) => backend.read(...args),
      scan: (space, range) => backend.scan(space, range),
      run,
      snapshots: backend.snapshots,
      snapshot: () => backend.snapshot(),
      close: async () => {},
    }
  }

  it('is the same on an engine with small transactions and rows', async () => {
    const world = new SimulatedWorld(1)
    world.limits = { ...world.limits, valueBytesMax: 4096 }
    const directory = directoryWith({ 'in/a.jsonl': jsonl(docs) })
    const deduper = await openDedupe(world.open('worker'), CUT)
    await deduper.run({ inputs: [join(directory, 'in')], out: join(directory, 'out'), run: 'r' })
    await deduper.close()
    const written = linesOf(join(directory, 'out/kept/a.jsonl'))
    expect(written.map(({ text }) => text)).toEqual(left)
  })

  it('and is killed at any write goes on to the same bytes', async () => {
    const directory = directoryWith({ 'in/a.jsonl': jsonl(docs) })
    const job = { inputs: [join(directory, 'in')], out: join(directory, 'out'), run: 'r' }
    const backend = new MemoryBackend()
    let kills = 0
    for (let writes = 1; writes < 200; writes++) {
      const deduper = await openDedupe(dying(backend, writes), CUT).catch(() => undefined)
      const isDone = await deduper?.run(job).then(
        () => true,
        (error: unknown) => {
          expect(String(error)).toContain('killed')
          return false
        },
      )
      await deduper?.close()
      if (isDone) break
      kills++
    }
    expect(kills).toBeGreaterThan(8)
    expect(linesOf(join(directory, 'out/kept/a.jsonl')).map(({ text }) => text)).toEqual(left)
    expectRestored(directory, (id) => left[docs.findIndex((doc) => doc.id === id)] ?? '')
  })
})

describe('settings', () => {
  it.each([
    [{ passages: { action: 'cut' }, containment: { action: 'cut' } }, /cannot be combined/],
    [
      { passages: { action: 'cut', wordsMin: 3 } },
      /passages\.wordsMin: must be a whole number from 4 to 1000/,
    ],
    [{ passages: { action: 'cut', documentsMin: 1 } }, /passages\.documentsMin/],
  ] as const)('%j are refused', async (options, message) => {
    await expect(openDedupe('memory:', options)).rejects.toThrow(message)
  })

  it('for whole runs are refused where documents come one by one', async () => {
    const deduper = await openDedupe('memory:', CUT)
    await expect(deduper.decide({ id: 'a', text: 'b' })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    await expect(deduper.clean({ inputs: ['x'], out: 'y' })).rejects.toThrow(
      /cleaning against a state/,
    )
    await deduper.close()
  })
})

describe('the command line', () => {
  it('cuts and says so, with options for all settings', async () => {
    const directory = directoryWith({ 'in/a.jsonl': jsonl(docs) })
    const [inputs, out] = [join(directory, 'in'), join(directory, 'out')]
    const options = [
      '--passages',
      'cut',
      '--passages-min-documents',
      String(N),
      '--passages-min-words',
      '12',
    ]
    const run = await prestige(['dedupe', inputs, '-o', out, ...options, '--passages-by', 'words'])
    expect([run.code, run.err]).toEqual([0, ''])
    expect(run.text).toMatch(/Cut \d+ passages from 4 documents/)
    expect(linesOf(join(out, 'kept/a.jsonl')).map(({ text }) => text)).toEqual(left)
    // A state of runs that cut passages is one to clean others against.
    const against = ['--against', join(out, 'state')]
    const clean = await prestige([
      'dedupe',
      inputs,
      '-o',
      join(directory, 'clean'),
      ...against,
      '-q',
    ])
    expect([clean.code, clean.err]).toEqual([0, ''])
  })

  it.each([
    [['--passages-min-words', '9'], /--passages-min-words .*--passages/],
    [['--passages', 'all'], /--passages .*list, cut/],
    [
      ['--passages', 'cut', '--passages-min-words', '3'],
      /--passages-min-words 3: must be a whole number from 4/,
    ],
    [['--passages', 'cut', '--against', 'x'], /--passages .*--against/],
    [
      ['--passages', 'cut', '--containment', '0.8', '--containment-action', 'cut'],
      /cannot be combined/,
    ],
  ])('refuses %j', async (options, message) => {
    const directory = directoryWith({ 'in/a.jsonl': jsonl(plain) })
    const run = await prestige([
      'dedupe',
      join(directory, 'in'),
      '-o',
      join(directory, 'out'),
      ...options,
    ])
    expect(run.code).toBe(2)
    expect(run.err).toMatch(message)
  })
})

describe('restoreText', () => {
  it('restores any text from what was cut', () => {
    const letters = fc.constantFrom('a', 'é', 'e\u0301', 'ह', '中', '😀', '\u200d', '\n', '"', '\0')
    const part = fc.array(letters, { maxLength: 5 }).map((all) => all.join(''))
    const pieces = fc.array(part, { maxLength: 9 })
    fc.assert(
      fc.property(pieces, (parts) => {
        const spans: { start: number; end: number; passage: string }[] = []
        const passages = new Map<string, string>()
        let end = 0
        for (const [at, part] of parts.entries()) {
          const start = end
          end += Buffer.byteLength(part)
          if (at % 2 === 0) continue
          passages.set(`p${at}`, part)
          spans.push({ start, end, passage: `p${at}` })
        }
        const cut = parts.filter((_part, at) => at % 2 === 0).join('')
        expect(restoreText(cut, spans, passages)).toBe(parts.join(''))
      }),
      { seed: 5, numRuns: 200 },
    )
  })

  it('refuses a passage that is missing, and a text that is another', () => {
    const spans = [{ start: 2, end: 4, passage: 'p' }]
    expect(() => restoreText('ab', spans, new Map())).toThrow(/passage p is not among those given/)
    expect(() => restoreText('a', spans, new Map([['p', 'xy']]))).toThrow(
      /is not the one that was cut/,
    )
  })
})
