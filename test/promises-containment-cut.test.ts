/** What the corpus job promises with containment.action 'cut': of documents that share a passage, one keeps it. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'

import { parquetReadObjects } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterEach, describe, expect, it } from 'vitest'

import { type Decision, dedupe, type DedupeOptions, type Job, openDedupe } from '../src/index.ts'
import { jsonl, linesOf, published, textMaker, writeFiles } from './corpus-kit.ts'

const made: string[] = []
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true })
})

function directoryWith(files: Record<string, string | Uint8Array>): string {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-cut-'))
  made.push(directory)
  writeFiles(directory, files)
  return directory
}

const CUT: DedupeOptions = { containment: { enabled: true, action: 'cut' } }
const make = textMaker(31)
const HINDI = 'यह एक लंबा संदेश है जिसमें बहुत सारे शब्द हैं और कोई इसे फिर से उद्धृत करता है ताकि'
const passage = `😀 ${HINDI} ${make(30)} 東京 😀👩‍👩‍👧`
const [before, behind] = [`${make(50)}, "so" 👋🏽`, `👋🏽 ${make(50)}; ends`]
const message = { id: 'message', text: passage }
const reply = { id: 'reply', text: `${before} ${passage} ${behind}`, n: 1 }
const other = { id: 'other', text: make(80) }

async function decide(
  documents: readonly { id: string; text: string }[],
  options: DedupeOptions = CUT,
): Promise<Decision[]> {
  const decisions: Decision[] = []
  for await (const decision of dedupe(documents, options)) decisions.push(decision)
  return decisions
}

type Spans = readonly { readonly start: number; readonly end: number }[]

/** The text without the spans, which are bytes of it. */
function without(text: string, spans: Spans): string {
  const bytes = Buffer.from(text)
  const parts: Buffer[] = []
  let from = 0
  for (const { start, end } of spans) {
    parts.push(bytes.subarray(from, start))
    from = end
  }
  return Buffer.concat([...parts, bytes.subarray(from)]).toString()
}

async function run(directory: string, job: Partial<Job> = {}, options = CUT, out = 'out') {
  const deduper = await openDedupe(join(directory, 'state'), options)
  try {
    const inputs = [join(directory, 'in')]
    return await deduper.run({ inputs, out: join(directory, out), ...job })
  } finally {
    await deduper.close()
  }
}

/** What is left of the reply, by the spans that are listed. */
function leftOf(directory: string, out = 'out'): string {
  const lines = linesOf(join(directory, out, 'duplicates.jsonl'))
  const line = lines.find(({ cut }) => cut === true)
  expect(line).toMatchObject({ action: 'link', method: 'containment' })
  const left = without(reply.text, line.spans)
  expect(left).not.toContain('\uFFFD')
  expect(left).not.toContain(HINDI)
  expect(left.startsWith(before) && left.endsWith(behind)).toBe(true)
  return left
}

describe('a document with a passage of another', () => {
  it('is kept without it, and says what is cut', async () => {
    const [first, , cut] = await decide([message, other, reply])
    expect(first?.action).toBe('keep')
    const expected = { action: 'link', cut: true, method: 'containment', of: { id: 'message' } }
    expect(cut).toMatchObject(expected)
    expect(cut?.containment?.shareOfOther).toBe(1)
    const left = without(reply.text, cut?.spans ?? [])
    expect(left).not.toContain(HINDI)
    expect(left.startsWith(before) && left.endsWith(behind)).toBe(true)
  })

  it('is dropped if all of it is there, in one document or in several', async () => {
    const [, second] = await decide([reply, message])
    expect(second).toMatchObject({ action: 'drop', method: 'containment', of: { id: 'reply' } })
    expect(second?.cut).toBeUndefined()
    const [one, two] = [make(40), make(40)]
    const both = { id: 'both', text: `${one}\n\n${two}` }
    const parts = [one, two].map((text, at) => ({ id: `part ${at}`, text }))
    expect((await decide([...parts, both])).at(-1)).toMatchObject({ action: 'drop' })
  })

  it('is cut for what is in several documents, each passage once', async () => {
    const [one, two, own] = [make(40), make(40), make(60)]
    const parts = [one, two].map((text, at) => ({ id: `part ${at}`, text }))
    const last = { id: 'last', text: `${one}\n${own}\n${two}` }
    const decision = (await decide([...parts, last])).at(-1)
    expect(decision).toMatchObject({ action: 'link', cut: true })
    expect(without(last.text, decision?.spans ?? []).trim()).toBe(own)
    expect(decision?.spans?.map(({ of }) => of.id)).toEqual(['part 0', 'part 1'])
  })

  it('is never cut because of one that lost the passage itself', async () => {
    const engine = await openDedupe('memory:', CUT)
    // The second loses the passage to the first; the third is held against what is left of it.
    const [, second, third] = [
      await engine.decide(message),
      await engine.decide(reply),
      await engine.decide({ id: 'third', text: `${make(60)} ${passage} ${make(20)}` }),
    ]
    expect(second).toMatchObject({ cut: true, of: { id: 'message' } })
    expect(third).toMatchObject({ cut: true, of: { id: 'message' } })
    expect(third?.spans?.every(({ of }) => of.id === 'message')).toBe(true)
    // What is left of the second is its own, and is cut from others.
    const fourth = await engine.decide({ id: 'fourth', text: `${make(90)} ${before} ${behind}` })
    expect(fourth).toMatchObject({ cut: true, of: { id: 'reply' } })
    // The first gets another text: nobody has the passage now, whoever had lost it.
    await engine.decide({ id: 'message', text: make(70) })
    const fifth = await engine.decide({ id: 'fifth', text: `${make(60)} ${passage}` })
    expect(fifth.action).toBe('keep')
    await engine.close()
  })

  it('is re-evaluated when what it was cut for has another text', async () => {
    const engine = await openDedupe('memory:', CUT)
    await engine.decide(message)
    expect(await engine.decide(reply)).toMatchObject({ cut: true })
    expect(await engine.decide(reply)).toMatchObject({ cut: true, isKnown: true })
    await engine.decide({ id: 'message', text: make(70) })
    const orphans: string[] = []
    for await (const { id } of engine.orphans()) orphans.push(id)
    expect(orphans).toEqual(['reply'])
    expect(await engine.decide(reply)).toMatchObject({ action: 'keep' })
    await engine.close()
  })

  it('stays cut for many: a passage that hundreds have is kept once', async () => {
    const many = Array.from({ length: 260 }, (_, at) => ({
      id: `d${at}`,
      text: `${make(70)} ${passage}`,
    }))
    const decisions = await decide(many, { containment: { ...CUT.containment, min: 0.2 } })
    expect(decisions.filter(({ action }) => action === 'keep').map(({ id }) => id)).toEqual(['d0'])
    expect(decisions.slice(1).every(({ cut, of }) => cut && of?.id === 'd0')).toBe(true)
  })
})

describe('the kept output', () => {
  it('of JSONL has the line without the passage, and all else byte for byte', async () => {
    const line = `{"id":"reply" , "n":12345678901234567890, "text":${JSON.stringify(reply.text)},"x":1.0}\r\n`
    const others = `${JSON.stringify(message)}\n{ "id": "other", "text":"${other.text}" }\n`
    const directory = directoryWith({ 'in/a.jsonl': `\uFEFF${others}${line}` })
    const { summary } = await run(directory)
    expect(summary).toMatchObject({ documents: 3, kept: 2, linked: 1, dropped: 0, cut: 1 })
    const left = leftOf(directory)
    expect(summary.bytesCut).toBe(Buffer.byteLength(reply.text) - Buffer.byteLength(left))
    const expected = line.replace(JSON.stringify(reply.text), () => JSON.stringify(left))
    expect(readFileSync(join(directory, 'out/kept/a.jsonl'), 'utf8')).toBe(
      `\uFEFF${others}${expected}`,
    )
  })

  it.each([
    ['a.b', (text: string) => `{"b":"no","a":{"c":["}",{"b":"\\""}],"b":"dup"},"a":{"b":${text}}}`],
    ['a.b', (text: string) => `{"a":{"b":"no"},"a.b":${text}}`],
    ['t"x', (text: string) => `{"y":null,"t\\u0022x":${text}, "z":[1,{"t\\"x":2}]}`],
  ])('of JSONL has the field %s cut where it is', async (field, recordOf) => {
    const texts = [message.text, reply.text].map((text) => recordOf(JSON.stringify(text)))
    const directory = directoryWith({ 'in/a.jsonl.gz': gzipSync(`${texts.join('\n')}\n`) })
    await run(directory, { reading: { fields: { text: field } } })
    const written = gunzipSync(readFileSync(join(directory, 'out/kept/a.jsonl.gz'))).toString()
    const left = recordOf(JSON.stringify(leftOf(directory)))
    expect(written).toBe(`${texts[0]}\n${left}\n`)
  })

  it('of JSONL has lines that are a string alone, and escapes, cut as well', async () => {
    const escaped = JSON.stringify(reply.text).replaceAll(
      /[^ -~]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    const input = `${JSON.stringify(passage)}\n${escaped}\n`
    const directory = directoryWith({ 'in/a.jsonl': input })
    await run(directory)
    expect(linesOf(join(directory, 'out/kept/a.jsonl'))).toEqual([passage, leftOf(directory)])
  })

  it.each([
    ['csv', ','],
    ['tsv', '\t'],
  ])('of %s has the row with the quotes it needs', async (format, delimiter) => {
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
    const row = (...fields: string[]) => fields.join(delimiter)
    const head = row('id', 'text', 'note')
    const first = row('message', quoted(passage), 'a "plain" one')
    const two = quoted(`two\r\nlines${delimiter} ""`)
    const input = (text: string) => `${head}\r\n${first}\r\n${row('reply', quoted(text), two)}\r\n`
    const directory = directoryWith({ [`in/a.${format}`]: input(reply.text) })
    await run(directory)
    expect(readFileSync(join(directory, `out/kept/a.${format}`), 'utf8')).toBe(
      input(leftOf(directory)),
    )
  })

  it('of lines has the line, and of files the file, compressed as they were', async () => {
    const lines = directoryWith({ 'in/a.txt': `${passage}\r\n${reply.text}\r\n` })
    await run(lines, { listing: { format: 'lines' } })
    expect(readFileSync(join(lines, 'out/kept/a.txt'), 'utf8')).toBe(
      `${passage}\r\n${leftOf(lines)}\r\n`,
    )
    const files = directoryWith({
      'in/a.txt': passage,
      'in/b.txt.gz': gzipSync(`\uFEFF${reply.text}`),
      'in/c.txt': other.text,
    })
    await run(files, { listing: { format: 'files' } })
    const kept = (name: string) => readFileSync(join(files, 'out/kept', name))
    expect(kept('a.txt').toString()).toBe(passage)
    expect(gunzipSync(kept('b.txt.gz')).toString()).toBe(`\uFEFF${leftOf(files)}`)
  })

  it('of Parquet has the value in its column', async () => {
    const rows = [message, other, reply]
    const buffer = parquetWriteBuffer({
      columnData: [
        { name: 'id', data: rows.map(({ id }) => id), type: 'STRING' },
        { name: 'n', data: [1n, 2n ** 60n, 3n], type: 'INT64' },
        { name: 'text', data: rows.map(({ text }) => text), type: 'STRING' },
      ],
      rowGroupSize: 2,
    })
    const directory = directoryWith({ 'in/a.parquet': new Uint8Array(buffer) })
    await run(directory)
    const bytes = readFileSync(join(directory, 'out/kept/a.parquet'))
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
    expect(await parquetReadObjects({ file })).toEqual([
      { id: 'message', n: 1n, text: passage },
      { id: 'other', n: 2n ** 60n, text: other.text },
      { id: 'reply', n: 3n, text: leftOf(directory) },
    ])
  })
})

describe('a run that cuts', () => {
  const files = {
    'in/a.jsonl': jsonl([message, other]),
    'in/b.jsonl': jsonl([reply, { id: 'quote', text: `${make(60)}\n> ${passage}` }]),
  }

  it('is planned as it is run, and resumes to the same bytes', async () => {
    const [whole, directory] = [directoryWith(files), directoryWith(files)]
    for (const one of [whole, directory]) await (await openDedupe(join(one, 'state'), CUT)).close()
    await run(whole, { run: 'r' })
    const deduper = await openDedupe(join(directory, 'state'), CUT)
    const inputs = [{ path: join(directory, 'in'), source: join(whole, 'in') }]
    const job = { inputs, out: join(directory, 'out') }
    const file = join(directory, 'plan.jsonl')
    const { summary } = await deduper.plan({ ...job, file })
    expect(summary).toMatchObject({ cut: 2 })
    expect(linesOf(file)).toEqual(linesOf(join(whole, 'out/duplicates.jsonl')))
    // It is stopped once everything is decided.
    const watcher = {
      onPhase: (phase: string) => {
        if (phase === 'publishing') throw new Error('stopped')
      },
    }
    await expect(deduper.run({ ...job, run: 'r', watcher })).rejects.toThrow('stopped')
    await deduper.close()
    const resumed = await run(directory, { run: 'r' })
    expect(resumed.summary).toMatchObject(summary)
    const strip = (out: string) =>
      JSON.parse(JSON.stringify(published(out)).replaceAll(directory, '').replaceAll(whole, ''))
    expect(strip(join(directory, 'out'))).toEqual(strip(join(whole, 'out')))
    expect((await run(directory)).status).toBe('nothing')
  })

  it('gives the same in whatever order documents come, if asked to', async () => {
    const containment = { ...CUT.containment, min: 0.5 }
    const options = { containment, orderIndependent: true, keep: ['longest' as const] }
    const texts = async (docs: readonly { id: string; text: string }[]) => {
      const directory = directoryWith({ 'in/a.jsonl': jsonl(docs) })
      await run(directory, {}, options)
      const kept = linesOf(join(directory, 'out/kept/a.jsonl'))
      return kept.map(({ text }) => String(text)).toSorted()
    }
    const quote = { id: 'quote', text: `${make(20)}\n> ${passage}` }
    const docs = [message, quote, other, reply]
    const kept = await texts(docs)
    expect(kept).toHaveLength(3)
    expect(kept).toContain(reply.text)
    expect(kept).not.toContain(quote.text)
    expect(await texts(docs.toReversed())).toEqual(kept)
  })

  it('is undone, and what it was cut for cannot be undone before it', async () => {
    const directory = directoryWith({
      'one/a.jsonl': jsonl([message]),
      'two/b.jsonl': jsonl([reply]),
    })
    const deduper = await openDedupe(join(directory, 'state'), CUT)
    const runOf = (name: string, out: string) =>
      deduper.run({ inputs: [join(directory, name)], out: join(directory, out) })
    const first = await runOf('one', 'out-1')
    const second = await runOf('two', 'out-2')
    expect(second.summary).toMatchObject({ cut: 1 })
    await expect(deduper.undo(first.run)).rejects.toMatchObject({ code: 'RUN_RELIED_ON' })
    await deduper.undo(second.run)
    await deduper.undo(first.run)
    expect((await runOf('two', 'out-3')).summary).toMatchObject({ kept: 1, cut: 0, bytesCut: 0 })
    expect(linesOf(join(directory, 'out-3/kept/b.jsonl'))).toEqual([reply])
    await deduper.close()
  })

  it('cuts against a state as well', async () => {
    const directory = directoryWith({
      'in/a.jsonl': jsonl([message]),
      'two/b.jsonl': jsonl([reply]),
    })
    await run(directory)
    const deduper = await openDedupe(join(directory, 'state'), CUT)
    const out = join(directory, 'clean')
    const { summary } = await deduper.clean({ inputs: [join(directory, 'two')], out })
    expect(summary).toMatchObject({ linked: 1, cut: 1 })
    const [line] = linesOf(join(out, 'kept/b.jsonl'))
    expect(line).toEqual({ ...reply, text: leftOf(directory, 'clean') })
    await deduper.close()
  })

  it('refuses what it cannot keep, by name', async () => {
    // @ts-expect-error: no such action
    const wrong: DedupeOptions = { containment: { enabled: true, action: 'trim' } }
    await expect(openDedupe('memory:', wrong)).rejects.toThrow(/containment\.action.*link, drop/s)
    const longest = { ...CUT, keep: ['longest' as const] }
    await expect(openDedupe('memory:', longest)).rejects.toThrow(/'cut'.*orderIndependent/s)
  })
})
