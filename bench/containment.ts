/**
 * Which planted excerpts are found, with which spans; what is found that was never planted; what the index takes on disk
 * and what it costs, by itself and in a corpus job. One JSON line a case.
 *
 * Documents of 2,000 to 50,000 words are in the index, and excerpts of 20, 50 and 100 words are looked up; then the other
 * way round. Words are drawn by Zipf's law from seeds. Unrelated pairs are news articles, where they are at
 * `../shared/data` or where PRESTIGE_DATA says, except those known to be duplicates.
 */

import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { backendAt, type Backend } from '../src/backends/index.ts'
import { PassageText } from '../src/compare/index.ts'
import { openDedupe } from '../src/index.ts'
import { fingerprintsOf } from '../src/fingerprint/index.ts'
import { randomWords } from '../src/fingerprint/mix.ts'
import { ContainmentIndex, nearSpaces, rawCodec, spacesOf } from '../src/match/index.ts'
import { articlesOf, plantedPairs } from '../test/texts/real-texts.ts'

export type Figures = Readonly<Record<string, unknown>> & { readonly case: string }

const SPACES = nearSpaces('bench.containment')
const next = randomWords(2003)
const chance = () => next() / 2 ** 32
const VOCABULARY = 50_000
const digits = (value: number) => Number(value.toFixed(4))

/** Rank by Zipf's law, as a word of that length. */
function word(): string {
  const rank = Math.floor(VOCABULARY ** chance())
  return rank < 200 ? `a${rank.toString(36)}` : `word${rank.toString(36)}`
}

const wordsOf = (count: number) => Array.from({ length: count }, word)

interface Document {
  readonly words: readonly string[]
  readonly bytes: Buffer
}

function documentOf(words: readonly string[]): Document {
  return { words, bytes: Buffer.from(words.join(' ')) }
}

/** An index on a disk, of texts that are kept elsewhere. */
class Bench {
  readonly directory: string
  readonly texts = new Map<string, Buffer>()
  readonly index: ContainmentIndex<Buffer>
  readonly backend: Backend
  bytes = 0

  private constructor(backend: Backend, directory: string) {
    this.backend = backend
    this.directory = directory
    this.index = new ContainmentIndex(SPACES, true, {
      owner: 'bench',
      min: 0.8,
      payloads: { encode: (bytes) => bytes, decode: (bytes) => Buffer.from(bytes) },
      readText: (id) => this.#textOf(id),
    })
  }

  static async open(): Promise<Bench> {
    const directory = mkdtempSync(join(tmpdir(), 'prestige-containment-'))
    const backend = await backendAt(directory, spacesOf(SPACES), { durability: 'os' })
    return new Bench(backend, directory)
  }

  // oxlint-disable-next-line require-yield -- the texts are in memory
  *#textOf(id: Buffer): Generator<never, Buffer | undefined, never> {
    return this.texts.get(id.toString('hex'))
  }

  async add(number: number, text: Buffer): Promise<void> {
    const id = Buffer.alloc(16)
    id.writeUInt32BE(number, 12)
    this.texts.set(id.toString('hex'), text)
    this.bytes += text.byteLength
    const { index } = this
    const probe = index.probeOf(text, fingerprintsOf(text))
    if (!probe) return
    await this.backend.run(function* (scope) {
      yield* index.insert(scope, id, probe, Buffer.alloc(0))
    })
  }

  async find(text: Buffer) {
    const { index } = this
    const probe = index.probeOf(text, fingerprintsOf(text))
    const { found } = await this.backend.read(() => index.find(probe, undefined))
    return found
  }

  async rowBytes(): Promise<number> {
    let bytes = 0
    for (const space of spacesOf(SPACES)) {
      if (!space.ordered) continue
      for await (const { key, value } of this.backend.scan({ ...space, codec: rawCodec })) {
        bytes += key.byteLength + value.byteLength
      }
    }
    return bytes
  }

  fileBytes(): number {
    const sizes = readdirSync(this.directory, { recursive: true, encoding: 'utf8' })
    return sizes.reduce((sum, name) => sum + statSync(join(this.directory, name)).size, 0)
  }

  async close(): Promise<void> {
    await this.backend.close()
    rmSync(this.directory, { recursive: true })
  }
}

async function recall(size: number, documents: number, isContained: boolean): Promise<Figures> {
  const bench = await Bench.open()
  let found = 0
  let rightSpans = 0
  let other = 0
  let cpu = 0
  const planted: { excerpt: Document; whole: Document; start: number; end: number }[] = []
  for (let number = 0; number < documents; number++) {
    const words = wordsOf(2000 + Math.floor(48_000 * chance() ** 3))
    const excerpt = documentOf(wordsOf(size))
    const at = Math.floor(chance() * words.length)
    const before = Buffer.byteLength(words.slice(0, at).join(' ')) + (at > 0 ? 1 : 0)
    const whole = documentOf([...words.slice(0, at), ...excerpt.words, ...words.slice(at)])
    planted.push({ excerpt, whole, start: before, end: before + excerpt.bytes.byteLength })
    await bench.add(number, isContained ? whole.bytes : excerpt.bytes)
  }
  for (const [number, { excerpt, whole, start, end }] of planted.entries()) {
    const began = process.cpuUsage()
    const answers = await bench.find(isContained ? excerpt.bytes : whole.bytes)
    const { user, system } = process.cpuUsage(began)
    cpu += user + system
    const hit = answers.find(({ id }) => id.readUInt32BE(12) === number)
    other += answers.length - (hit ? 1 : 0)
    if (!hit) continue
    found++
    const [span] = isContained ? hit.passagesOfOther : hit.passages
    // Three words, at either end.
    if (span && Math.abs(span.start - start) <= 24 && Math.abs(span.end - end) <= 24) rightSpans++
  }
  await bench.close()
  return {
    case: `excerpts of ${size} words, ${isContained ? 'documents' : 'excerpts'} in the index`,
    documents,
    found: digits(found / documents),
    rightSpans: digits(rightSpans / documents),
    others: other,
    cpuMicrosPerLookup: Math.round(cpu / documents),
    isWithin: found / documents >= 0.95 && rightSpans / documents >= 0.95,
  }
}

/** Pairs of articles that nobody planted, by the exact measure and by the index. */
async function unrelated(): Promise<Figures> {
  const duplicates = new Set(plantedPairs(1000).flatMap((pair) => pair.split(' ')))
  const articles = articlesOf(1000).filter(({ id }) => !duplicates.has(id))
  const texts = articles.map(({ text }) => Buffer.from(text))
  const measured = texts.map((text) => new PassageText(text))
  let pairs = 0
  let wrong = 0
  for (; pairs < 10_000; pairs++) {
    const one = measured[next() % measured.length]!
    const other = measured[next() % measured.length]!
    if (one !== other && Math.max(one.shareIn(other), other.shareIn(one)) >= 0.8) wrong++
  }
  const bench = await Bench.open()
  let found = 0
  for (const [number, text] of texts.entries()) {
    found += (await bench.find(text)).length
    await bench.add(number, text)
  }
  const kilobytes = bench.bytes / 1024
  const rowBytesPerKilobyte = digits((await bench.rowBytes()) / kilobytes)
  const fileBytesPerKilobyte = digits(bench.fileBytes() / kilobytes)
  await bench.close()
  return {
    case: 'unrelated news articles',
    pairs,
    wrong,
    articles: texts.length,
    foundAmongAll: found,
    rowBytesPerKilobyte,
    fileBytesPerKilobyte,
    isWithin: wrong === 0 && rowBytesPerKilobyte <= 300,
  }
}

function cost(): Figures {
  const text = Buffer.from(wordsOf(20_000).join(' '))
  const rounds = 200
  const spent = (work: () => unknown) => {
    for (let round = 0; round < 20; round++) work()
    const began = process.cpuUsage()
    for (let round = 0; round < rounds; round++) work()
    const { user, system } = process.cpuUsage(began)
    return Math.round((text.byteLength * rounds) / (user + system))
  }
  const megabytesPerCpuSecond = spent(() => fingerprintsOf(text))
  return {
    case: 'fingerprints',
    megabytesPerCpuSecond,
    isWithin: megabytesPerCpuSecond >= 100,
  }
}

const JOB_BYTES = 20e6
const JOB_ROUNDS = 3

/** Articles again and again, every so many words replaced, until there are so many bytes. */
function corpusOf(bytesMin: number, every: number): string {
  const articles = articlesOf(1000)
  const lines: string[] = []
  let bytes = 0
  for (let copy = 0; bytes < bytesMin; copy++) {
    for (const { id, text } of articles) {
      const words = text.split(' ')
      const changed = words.map((one) => (copy > 0 && next() % every === 0 ? word() : one))
      const line = JSON.stringify({ id: `${id}/${copy}`, text: changed.join(' ') })
      lines.push(line)
      bytes += line.length
    }
  }
  return `${lines.join('\n')}\n`
}

/** What a corpus job costs with containment, by the cost without. */
async function job(scale: number, every: number, aim: number): Promise<Figures> {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-containment-'))
  const file = join(directory, 'in.jsonl')
  writeFileSync(file, corpusOf(JOB_BYTES * Math.min(1, scale), every))
  let out = 0
  const spent = async (enabled: boolean) => {
    const target = join(directory, String(out++))
    const began = process.cpuUsage()
    const deduper = await openDedupe(join(target, 'state'), { containment: { enabled } })
    const { summary } = await deduper.run({ inputs: [file], out: join(target, 'out') })
    await deduper.close()
    const { user, system } = process.cpuUsage(began)
    rmSync(target, { recursive: true })
    return { seconds: (user + system) / 1e6, summary }
  }
  const rounds: { ratio: number; without: number; with: number }[] = []
  let counts = {}
  // The first pair warms up.
  for (let round = 0; round <= JOB_ROUNDS; round++) {
    const without = await spent(false)
    const { seconds, summary } = await spent(true)
    const { documents, bytes, kept, dropped, linked } = summary
    counts = { documents, bytes, kept, dropped, linked }
    const ratio = seconds / without.seconds
    if (round > 0) rounds.push({ ratio, without: without.seconds, with: seconds })
  }
  rmSync(directory, { recursive: true })
  const median = rounds.toSorted((one, other) => one.ratio - other.ratio)[JOB_ROUNDS >> 1]!
  return {
    case: `corpus job, every ${every}th word of a copy changed`,
    ...counts,
    cpuSecondsWithout: digits(median.without),
    cpuSecondsWith: digits(median.with),
    ratio: digits(median.ratio),
    isWithin: median.ratio <= aim,
  }
}

export async function benchContainment(
  scale: number,
  print: (figures: Figures) => void,
): Promise<void> {
  const say = (figures: Figures) => print({ bench: 'containment', ...figures })
  const documents = Math.max(10, Math.round(400 * scale))
  for (const size of [20, 50, 100]) {
    say(await recall(size, documents, true))
    say(await recall(size, documents, false))
  }
  say(await unrelated())
  say(cost())
  // Near duplicates, which containment is not asked about, and copies that are none any more.
  say(await job(scale, 100, 1.3))
  say(await job(scale, 10, 1.3))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await benchContainment(Number(process.argv[2] ?? 1), (figures) =>
    process.stdout.write(`${JSON.stringify(figures)}\n`),
  )
}
