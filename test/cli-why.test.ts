/** `why`, `show`, `clusters` and `pairs` as a user runs them: what dedupe decided, and why. */

import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { inProcess as prestige } from './children/cli.ts'
import { jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
const at = (...names: string[]) => join(directory, ...names)
const text = textMaker(9)
const [one, two, three] = [text(80), text(80), text(80)]
const words = one.split(' ')
/** One word in eighty is another; so many are, for a similarity below the threshold. */
const changed = (count: number, by: string) =>
  words.map((word, n) => (n % Math.floor(80 / count) === 3 ? `${by}${n}` : word)).join(' ')
const MEDICINE = 'is given every Monday in the morning before breakfast with a glass of water.'

const documents = {
  'a.jsonl': jsonl([
    { id: 'first', text: one },
    { id: 'same', text: one },
    { id: 'upper', text: one.toUpperCase() },
    { id: 'close', text: changed(1, 'neu') },
    { id: 'apart', text: changed(10, 'wort') },
    { id: 'ten', text: `A dose of 10 mg ${MEDICINE}` },
    { id: 'fifty', text: `A dose of 50 mg ${MEDICINE}` },
    { id: 'both', text: two },
  ]),
  'sub/b.jsonl': `${jsonl([
    { id: 'both', text: three },
    { id: 'other', text: text(30) },
  ])}{"id": "broken", "txt": 1}\nno json\n`,
  'c.txt': 'Ein kurzer Text, der sonst nirgends vorkommt – 漢字 und العربية.',
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-why-'))
  writeFiles(at('in'), documents)
  const run = await prestige(['dedupe', at('in'), '-o', at('out'), '--run', 'monday', '-q'])
  expect([run.code, run.err]).toEqual([0, ''])
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const why = (id: string, ...args: string[]) => prestige(['why', id, '-o', at('out'), ...args])

describe('why', () => {
  it('says of a near duplicate against what, how similar, in which run, and which setting keeps it', async () => {
    const { code, text: said, err } = await why('close')
    expect([code, err]).toEqual([0, ''])
    expect(said).toMatch(/status +dropped since 20/)
    expect(said).toMatch(
      /reason +near: .*"first" \(a\.jsonl, line 1\) \(similarity 0\.\d{3}, threshold 0\.8\)/,
    )
    expect(said).toContain('"first" (a.jsonl, line 1) is kept in its place')
    expect(said).toMatch(/run +monday, begun 20/)
    // Both texts, with what differs between marks.
    expect(said).toMatch(/A: close +│ B: first/)
    expect(said).toContain('[-neu3 -]')
    expect(said).toContain(`{+${words[3]} +}`)
    const { json } = await why('close', '--json')
    const { similarity } = json
    const wanted = json.changes.find(({ setting }: { setting: string }) =>
      setting.startsWith('--threshold'),
    )
    expect(wanted).toMatchObject({ outcome: 'kept', also: 'higher' })
    const threshold = Number(wanted.setting.split(' ')[1])
    expect(threshold).toBeGreaterThan(similarity)
    expect(threshold - 0.01).toBeLessThanOrEqual(similarity)
    expect(said).toContain(`kept with --threshold ${threshold} or higher`)
    expect(json.at).toMatch(/^\d{4}-.*Z$/)
    expect(json.cluster.members.map(({ id }: { id: string }) => id).toSorted()).toEqual([
      'close',
      'same',
      'upper',
    ])
  })

  it('proposes a threshold that does keep the document', async () => {
    const { json } = await why('close', '--json')
    const [, threshold] = json.changes[0].setting.split(' ')
    await prestige(['dedupe', at('in'), '-o', at('high'), '--threshold', threshold, '-q'])
    const kept = linesOf(at('high/kept/a.jsonl')).map(({ id }) => id)
    expect(kept).toContain('close')
    expect(kept).not.toContain('upper')
  })

  it('says of copies that they are the same, and how to keep them listed', async () => {
    const same = await why('same')
    expect(same.text).toContain('exact: it has the same text as "first"')
    expect(same.text).toContain('Both texts are the same:')
    expect(same.text).toContain('kept with exact.action: link')
    expect(same.text).not.toContain('--threshold')
    expect((await why('upper')).text).toContain('canonical: it has the same canonical form as')
  })

  it('names the guard that keeps a similar document', async () => {
    const { text: said } = await why('fifty')
    expect(said).toMatch(/status +linked/)
    expect(said).toMatch(/guards keep them apart: .*numbers \(50 \/ 10\)/)
    expect(said).toContain('dropped with --no-guards')
    await prestige(['dedupe', at('in'), '-o', at('unguarded'), '--no-guards', '-q'])
    const kept = linesOf(at('unguarded/kept/a.jsonl')).map(({ id }) => id)
    expect(kept).not.toContain('fifty')
  })

  it('finds the most similar other documents of one that is kept, and the threshold that merges them', async () => {
    const { json } = await why('apart', '--json')
    expect(json).toMatchObject({ status: 'kept', nearest: [{ id: 'first' }] })
    const [{ similarity }] = json.nearest
    expect(similarity).toBeLessThan(0.8)
    expect(similarity).toBeGreaterThan(0.5)
    expect(json.changes[0]).toMatchObject({ outcome: 'duplicate', also: 'lower' })
    const [, threshold] = json.changes[0].setting.split(' ')
    const args = [
      'dedupe',
      at('in'),
      '-o',
      at('low'),
      '--threshold',
      threshold,
      '--no-guards',
      '-q',
    ]
    await prestige(args)
    expect(linesOf(at('low/kept/a.jsonl')).map(({ id }) => id)).not.toContain('apart')
  })

  it('says that a search for similar documents may miss some', async () => {
    const search =
      'The search is approximate: it finds most similar documents, and may miss some.\n'
    expect((await why('other')).text).toContain(
      `No other document with a similarity of 0.50 or more was found. ${search}`,
    )
    expect((await why('ten')).text).toMatch(/The most similar other documents, down to 0\.50:\n/)
    expect((await why('ten')).text).toContain(search)
  })

  it('lists the documents that were dropped for a kept one', async () => {
    const { text: said } = await why('first')
    expect(said).toContain(
      'Its cluster has 4 documents, of which "first" (a.jsonl, line 1) is kept',
    )
    expect(said).toMatch(/1\.000 +exact +dropped +"same" \(a\.jsonl, line 2\)/)
  })

  it('says of a duplicate of a text that has changed that it is orphaned, until the next run re-evaluates it', async () => {
    const dedupe = () => prestige(['dedupe', at('changing'), '-o', at('changed')])
    const whyB = () => prestige(['why', 'b', '-o', at('changed')])
    writeFiles(at('changing'), {
      '1.jsonl': jsonl([{ id: 'a', text: one }]),
      '2.jsonl': jsonl([{ id: 'b', text: one.toUpperCase() }]),
    })
    await dedupe()
    writeFiles(at('changing'), { '1.jsonl': jsonl([{ id: 'a', text: `${two} changed` }]) })
    expect((await dedupe()).text).toMatch(
      /No copy is kept any more of 1 document.*"b" \(2\.jsonl\)/,
    )
    const { text: said } = await whyB()
    expect(said).toMatch(/status +orphaned since/)
    expect(said).toMatch(/"a" \(1\.jsonl, line 1\), which has another text now/)
    expect(said).toMatch(/to re-evaluate it, run dedupe again with the inputs that 2\.jsonl is of/)
    expect(said).not.toMatch(/kept in its place|Both texts|Other settings|Its cluster/)
    await dedupe()
    expect((await whyB()).text).toMatch(/status +kept/)
    expect(linesOf(at('changed/kept/2.jsonl'))).toMatchObject([{ id: 'b' }])
  })

  it('lists the files of an id that is in several, and takes one of them', async () => {
    const all = await why('both')
    expect(all.text).toContain('2 documents with the id "both"')
    expect(all.text).toMatch(/kept +sub\/b\.jsonl, line 1 +run monday/)
    const typed = await why('both', '--file', at('in/sub/b.jsonl'))
    expect(typed.text).toMatch(/read from +sub\/b\.jsonl, line 1/)
    const lines = (await why('both', '--json')).text.trim().split('\n')
    expect(new Set(lines.map((line) => JSON.parse(line).file))).toEqual(
      new Set(['a.jsonl', 'sub/b.jsonl']),
    )
    const wrong = await why('both', '--file', 'c.txt')
    expect([wrong.code, wrong.err]).toEqual([3, expect.stringContaining('Without --file')])
  })

  it('finds a reject by its id, or by its file and line', async () => {
    for (const name of ['broken', 'sub/b.jsonl#3']) {
      const { text: said } = await why(name)
      expect(said).toContain('rejected: it is not a document')
      expect(said).toContain('missing-field')
      expect(said).toContain('sub/b.jsonl, line 3')
    }
    expect((await why('sub/b.jsonl#4', '--json')).json).toMatchObject({ reason: 'invalid-json' })
  })

  it('proposes an id, and says what to type where there is no state', async () => {
    const unknown = await why('clos')
    expect(unknown.code).toBe(3)
    expect(unknown.err).toContain(
      'There is no document "clos" in this state. Did you mean "close"?',
    )
    const nowhere = await prestige(['why', 'close'])
    expect([nowhere.code, nowhere.err]).toEqual([2, expect.stringContaining('why needs -o DIR')])
    const twice = await prestige(['why', 'x', '-o', at('out'), '--state', at('out/state')])
    expect([twice.code, twice.err]).toEqual([2, expect.stringContaining('give only one')])
    const empty = await prestige(['why', 'x', '-o', at('in')])
    expect([empty.code, empty.err]).toEqual([3, expect.stringContaining('There is no state in')])
    const state = await prestige(['why', 'close', '--state', at('out')])
    expect(state.text).toMatch(/status +dropped/)
  })
})

describe('documents from anywhere', () => {
  it('print nothing that a terminal would obey', async () => {
    const id = 'red\u001b[31m\u202e'
    writeFiles(at('hostile'), {
      'h.jsonl': jsonl([
        { id: 'plain', text: two },
        { id, source: '\u001b]0;title\u0007', text: `\u001b[2J${two}` },
      ]),
    })
    const job = ['dedupe', at('hostile'), '-o', at('hostile-out'), '--source-field', 'source', '-q']
    expect((await prestige(job)).code).toBe(0)
    for (const args of [
      ['why', id],
      ['why', 'plain'],
      ['clusters'],
      ['report'],
      ['why', `${id}x`],
    ]) {
      const { text: said, err } = await prestige([...args, '-o', at('hostile-out')])
      expect(said + err).toMatch(/red|title/)
      // oxlint-disable-next-line no-control-regex -- they are what is looked for
      expect(said + err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f\u202e]/)
    }
    // A pipe gets the text as it is.
    const shown = await prestige(['show', id, '-o', at('hostile-out')])
    expect(shown.text).toBe(`\u001b[2J${two}\n`)
  })
})

describe('a better copy', () => {
  it('is what is kept now, and the rule that would have kept the other is named', async () => {
    writeFiles(at('batches'), {
      '1.jsonl': jsonl([{ id: 'short', text: two }]),
      '2.jsonl': jsonl([{ id: 'long', text: `${two} and some more` }]),
    })
    const job = ['-o', at('better'), '--keep', 'longest']
    await prestige(['dedupe', at('batches/1.jsonl'), ...job])
    const second = await prestige(['dedupe', at('batches/2.jsonl'), ...job])
    expect(second.text).toMatch(/superseded before +1 +kept by earlier runs, and no longer in kept/)
    expect(linesOf(at('better/kept/1.jsonl'))).toEqual([])
    const short = await prestige(['why', 'short', '-o', at('better'), '--json'])
    expect(short.json).toMatchObject({ status: 'superseded', method: 'near', kept: { id: 'long' } })
    expect(short.json.changes).toContainEqual(expect.objectContaining({ setting: '--keep first' }))
    const long = await prestige(['why', 'long', '-o', at('better'), '--json'])
    expect(long.json).toMatchObject({ status: 'kept', supersedes: [{ id: 'short' }], nearest: [] })
  })

  it('says that a longer copy is kept by --keep longest', async () => {
    writeFiles(at('longer'), {
      '1.jsonl': jsonl([
        { id: 'short', text: two },
        { id: 'long', text: `${two} and some more` },
      ]),
    })
    await prestige(['dedupe', at('longer'), '-o', at('longer-out'), '-q'])
    const { json } = await prestige(['why', 'long', '-o', at('longer-out'), '--json'])
    expect(json.changes).toContainEqual(expect.objectContaining({ setting: '--keep longest' }))
    await prestige(['dedupe', at('longer'), '-o', at('longest-out'), '--keep', 'longest', '-q'])
    expect(linesOf(at('longest-out/kept/1.jsonl')).map(({ id }) => id)).toEqual(['long'])
  })
})

describe('show', () => {
  it('prints the text as it is, and what is known of it to stderr', async () => {
    const shown = await prestige(['show', 'c.txt', '-o', at('out')])
    expect(shown.code).toBe(0)
    expect(shown.text).toBe(`${documents['c.txt']}\n`)
    expect(shown.err).toMatch(/"c\.txt" \(c\.txt\): kept since .*run monday/)
    expect((await prestige(['show', 'c.txt', '-o', at('out'), '-q'])).err).toBe('')
    const { json } = await prestige(['show', 'close', '-o', at('out'), '--json'])
    expect(json).toMatchObject({ status: 'dropped', file: 'a.jsonl', line: 4, run: 'monday' })
    expect(json.text).toBe(changed(1, 'neu'))
  })

  it('asks for a file where an id has several, and fails where there is none', async () => {
    const both = await prestige(['show', 'both', '-o', at('out')])
    expect([both.code, both.err]).toEqual([2, expect.stringContaining('Choose one with --file')])
    expect((await prestige(['show', 'nobody', '-o', at('out')])).code).toBe(3)
  })

  it('takes one of several documents of an id in one file by its line, and so do why and ledger', async () => {
    writeFiles(at('twice'), {
      'm.jsonl': jsonl([
        { id: 'h', text: one },
        { id: 'h', text: two },
      ]),
    })
    await prestige(['dedupe', at('twice'), '-o', at('lines'), '-q'])
    const of = (command: string, ...args: string[]) =>
      prestige([command, 'h', '-o', at('lines'), ...args])
    const asked = await of('show', '--file', 'm.jsonl')
    expect([asked.code, asked.err]).toEqual([
      2,
      expect.stringContaining(
        'm.jsonl, line 1; m.jsonl, line 2. Choose one with --line, as in --line 2',
      ),
    ])
    expect((await of('show', '--line', '2')).text).toBe(`${two}\n`)
    const reasons = (await of('why', '--line', '1')).text
    expect([reasons.match(/read from/g), reasons.includes('m.jsonl, line 1')]).toEqual([
      ['read from'],
      true,
    ])
    const none = await of('show', '--line', '3')
    expect([none.code, none.err]).toEqual([3, expect.stringContaining('Without --line')])
    expect((await of('show', '--line', '0')).err).toContain('--line 0: must be a whole number')
    const ledger = await prestige(['ledger', 'get', 'h', '--store', at('lines')])
    expect(ledger.text).toMatch(/read from +m\.jsonl, line 1[^]*read from +m\.jsonl, line 2/)
  })
})

describe('clusters', () => {
  it('are listed with the largest first, the survivor, and the beginning of every text', async () => {
    const { code, text: said } = await prestige(['clusters', '-o', at('out')])
    expect(code).toBe(0)
    expect(said).toContain('4 documents\n  kept: "first" (a.jsonl, line 1)\n    ')
    expect(said).toContain(words.slice(0, 5).join(' '))
    expect(said).toMatch(/near 0\.\d{3}: "close"/)
    const { json } = await prestige(['clusters', '-o', at('out'), '--json'])
    expect(json).toMatchObject({ size: 4, survivor: { id: 'first' }, centre: { id: 'first' } })
    const none = await prestige(['clusters', '-o', at('out'), '--min-size', '5'])
    expect([none.code, none.text, none.err]).toEqual([
      0,
      '',
      'There are no clusters of that size.\n',
    ])
    const refused = await prestige(['clusters', '-o', at('out'), '--limit', '0'])
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--limit 0: must be')])
  })
})

describe('pairs', () => {
  it('are the closest calls on both sides, in the form that label and tune read', async () => {
    const pairs = await prestige(['pairs', '--near-threshold', '5', '-o', at('out')])
    expect(pairs.code).toBe(0)
    writeFileSync(at('pairs.jsonl'), pairs.text)
    const lines = linesOf(at('pairs.jsonl'))
    const named = lines.map(({ decision, aId, bId }) =>
      [decision, ...[String(aId), String(bId)].toSorted()].join(),
    )
    expect(named).toEqual(['duplicate,close,first', 'different,apart,first', 'refused,fifty,ten'])
    const [above, below] = lines
    expect(above.similarity).toBeGreaterThanOrEqual(0.8)
    expect(below.similarity).toBeLessThan(0.8)
    expect(above).toMatchObject({ label: null, a: changed(1, 'neu'), b: one })
    expect(pairs.err).toContain('1 duplicate, 1 different, 1 refused by guards')
    const again = await prestige(['pairs', '--near-threshold', '5', '-o', at('out')])
    expect(again.text).toBe(pairs.text)
    const labelled = await prestige(
      ['label', at('pairs.jsonl'), '-o', at('labels.jsonl'), '--json'],
      {
        input: 'y\nn\ns\n',
      },
    )
    expect(labelled.json).toMatchObject({ labels: 2, duplicates: 1, different: 1 })
    const tuned = await prestige(['tune', '--pairs', at('labels.jsonl')])
    expect([tuned.code, tuned.err]).toEqual([0, ''])
  })

  it('are CSV if asked for, with line feeds and quotes inside of texts', async () => {
    writeFiles(at('quoted'), {
      'q.jsonl': jsonl([
        { id: 'a', text: `"${one}"\n${two}, end` },
        { id: 'b', text: `"${one}"\n${two}, fin` },
      ]),
    })
    await prestige(['dedupe', at('quoted'), '-o', at('quoted-out'), '-q'])
    const csv = await prestige(['pairs', '-o', at('quoted-out'), '--csv', '-q'])
    expect(csv.err).toBe('')
    expect(csv.text.startsWith('a,b,label,decision,similarity,aId,bId\n"""')).toBe(true)
    writeFileSync(at('pairs.csv'), csv.text.replace(',,duplicate', ',yes,duplicate'))
    appendFileSync(at('pairs.csv'), 'one text,another thing,no,different,0,x,y\n')
    const tuned = await prestige(['tune', '--pairs', at('pairs.csv'), '--json'])
    expect([tuned.code, tuned.err]).toEqual([0, ''])
    expect(tuned.json).toMatchObject({ duplicates: 1, different: 1 })
  })

  it('that are searched for around fewer documents say so', async () => {
    const few = await prestige(['pairs', '-o', at('out'), '--limit', '0'])
    expect(few.text).not.toContain('"different"')
    expect(few.err).toMatch(/searched around 0 of \d+ documents \(--limit\)/)
  })
})

describe('an input that is gone or has changed', () => {
  it('is named, and everything else is said all the same', async () => {
    writeFiles(at('gone'), {
      'x.jsonl': jsonl([
        { id: 'x1', text: two },
        { id: 'x2', text: `${two} more` },
      ]),
    })
    await prestige(['dedupe', at('gone'), '-o', at('gone-out'), '-q'])
    const before = readFileSync(at('gone/x.jsonl'), 'utf8')
    writeFileSync(at('gone/x.jsonl'), before.replace(two, three))
    const changedInput = await prestige(['why', 'x2', '-o', at('gone-out')])
    expect(changedInput.text).toContain('is gone, has changed since, or is read in another way now')
    rmSync(at('gone/x.jsonl'))
    const asked = await prestige(['why', 'x2', '-o', at('gone-out')])
    expect(asked.code).toBe(0)
    expect(asked.text).toMatch(/status +dropped/)
    expect(asked.text).toContain('"x1" cannot be shown')
    const shown = await prestige(['show', 'x2', '-o', at('gone-out')])
    expect([shown.code, shown.text]).toEqual([3, ''])
    expect((await prestige(['clusters', '-o', at('gone-out')])).text).toContain('cannot be shown')
    const pairs = await prestige(['pairs', '-o', at('gone-out')])
    expect(pairs.text).toBe('')
    expect(pairs.err).toContain('1 pair left out: their inputs are gone or have changed.')
  })
})

describe('report', () => {
  it('finds the state below the outputs, names the corpus, and shows texts of clusters', async () => {
    const { code, text: said } = await prestige(['report', '-o', at('out')])
    expect(code).toBe(0)
    expect(said).toMatch(/^Run monday\n {2}in \(/)
    expect(said).toContain('all settings are the defaults')
    expect(said).toContain(words.slice(0, 3).join(' '))
    const page = readFileSync(at('out/report.html'), 'utf8')
    expect(page).toContain(words.slice(0, 10).join(' '))
    expect(page).toContain('Corpus: <bdi>in (')
  })

  it('takes all runs together as text, as JSON and as a page', async () => {
    const all = ['report', '--all', '-o', at('better')]
    const said = await prestige(all)
    expect([said.code, said.err]).toEqual([0, ''])
    expect(said.text).toMatch(/^All 2 runs\n/)
    expect(said.text).toMatch(/documents in +2/)
    expect((await prestige([...all, '--json'])).json).toMatchObject({
      run: { id: 'all runs' },
      documents: { in: 2, kept: 1, dropped: 1, superseded: 1 },
    })
    const page = await prestige([...all, '--html', at('all.html')])
    expect(page.text).toBe(`The report is in ${at('all.html')}\n`)
    expect(readFileSync(at('all.html'), 'utf8')).toContain('Runs over time')
    const both = await prestige([...all, 'monday'])
    expect([both.code, both.err]).toEqual([2, expect.stringContaining('leave out monday')])
  })
})
