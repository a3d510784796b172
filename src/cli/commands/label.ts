/** `label`: asks about pairs of texts, one after the other, and keeps every answer at once. Needs no store. */

import { alignTexts, type CompareOptions } from '../../compare/index.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { lineBatches } from '../files/lines.ts'
import { paint, print, printJson, tell } from '../print/output.ts'
import { count, countOf, percent } from '../print/units.ts'
import { colourOf, columnsOf } from '../texts/explain-texts.ts'
import { LabelFile } from '../texts/label-file.ts'
import { sideBySide } from '../texts/side-by-side.ts'
import { minedPairs, type Pair, type PairOptions, pairsIn } from '../texts/unlabelled-pairs.ts'

const LIMIT = 200
const THRESHOLD = 0.8
const KEYS = 'y duplicates, n different, s skip, u undo, q quit'
const ANSWERS = new Map([
  ['y', 'y'],
  ['yes', 'y'],
  ['n', 'n'],
  ['no', 'n'],
  ['s', 's'],
  ['skip', 's'],
  ['u', 'u'],
  ['undo', 'u'],
  ['q', 'q'],
  ['quit', 'q'],
])

export async function run(invocation: Invocation): Promise<number> {
  const path = invocation.text('out')
  if (path === undefined) {
    throw usageFailure(
      'label needs -o FILE, where the labels go: prestige label pairs.jsonl -o labels.jsonl',
    )
  }
  const pairs = await pairsOf(invocation)
  const file = await LabelFile.open(path)
  try {
    const session = new Session(file, pairs, invocation)
    await session.ask()
    await session.report()
    return 0
  } finally {
    await file.close()
  }
}

async function pairsOf(invocation: Invocation): Promise<Pair[]> {
  const { operands, signal } = invocation
  const options: PairOptions = {
    threshold: invocation.share('threshold') ?? THRESHOLD,
    // safe: whatever was typed is read by compareTexts, which refuses names that are no profile
    profile: invocation.text('profile') as CompareOptions['profile'],
    // safe: arguments.ts refuses all but the choices of the declarations
    canonical: invocation.text('canonical') as CompareOptions['canonical'],
    format: invocation.text('format') as PairOptions['format'],
    signal,
  }
  if (operands.includes('-')) {
    throw usageFailure('label reads answers from stdin, so the texts must be in a file.')
  }
  if (invocation.flag('inputs')) {
    const limit = invocation.wholeNumber('limit') ?? LIMIT
    if (limit === 0) throw usageFailure('--limit 0: must be 1 or more.')
    return minedPairs(operands, invocation.text('text-field') ?? 'text', limit, options)
  }
  const [file = '', ...more] = operands
  if (more.length > 0) {
    throw usageFailure(
      'label takes one file of pairs. Are they documents? Add --inputs to choose pairs from them.',
    )
  }
  return pairsIn(file, fieldsOf(invocation.text('fields')), options)
}

function fieldsOf(typed: string | undefined): [string, string] | undefined {
  if (typed === undefined) return undefined
  const [a, b, ...more] = typed.split(',').map((name) => name.trim())
  if (a && b && more.length === 0) return [a, b]
  throw usageFailure(`--fields takes two names, as in question,other; not "${typed}".`)
}

/** The same for a pair and its mirror image. */
function nameOf({ a, b }: Pick<Pair, 'a' | 'b'>): string {
  return JSON.stringify([a, b].toSorted())
}

class Session {
  readonly #file: LabelFile
  readonly #invocation: Invocation
  readonly #queue: Pick<Pair, 'a' | 'b'>[]
  readonly #similarities: ReadonlyMap<string, number>
  /** What was answered in this session, the last one last. */
  readonly #done: { readonly pair: Pick<Pair, 'a' | 'b'>; readonly isSkipped: boolean }[] = []
  #answers = 0

  constructor(file: LabelFile, pairs: readonly Pair[], invocation: Invocation) {
    this.#file = file
    this.#invocation = invocation
    const labelled = new Set(file.labels.map(nameOf))
    const unlabelled = new Map(pairs.map((pair) => [nameOf(pair), pair]))
    this.#similarities = new Map(
      [...unlabelled].map(([name, { similarity }]) => [name, similarity]),
    )
    for (const name of labelled) unlabelled.delete(name)
    this.#queue = [...unlabelled.values()]
  }

  async ask(): Promise<void> {
    const { signal } = this.#invocation
    const { cutOff, path, labels } = this.#file
    if (cutOff > 0)
      tell(`The last line of ${path} was incomplete and was removed (${count(cutOff)} bytes).\n`)
    if (labels.length > 0) {
      tell(
        `${path} has ${countOf(labels.length, 'label')}; ${countOf(this.#queue.length, 'pair')} left.\n`,
      )
    }
    if (this.#queue.length === 0) return
    await this.#show()
    for await (const answer of process.stdin.isTTY ? keys(signal) : lines(signal)) {
      this.#answers++
      if (answer === 'q') return
      await this.#take(answer)
      if (this.#queue.length === 0) return
      await this.#show()
    }
    signal.throwIfAborted()
    if (this.#answers === 0) throw noAnswers()
  }

  async #take(answer: string): Promise<void> {
    const [pair] = this.#queue
    if (answer === 'u') return this.#undo()
    if (!pair) return
    if (answer !== 's') await this.#file.add({ a: pair.a, b: pair.b, isDuplicate: answer === 'y' })
    this.#queue.shift()
    this.#done.push({ pair, isSkipped: answer === 's' })
  }

  /** The last answer; in a new session the last label of the file. */
  async #undo(): Promise<void> {
    const last = this.#done.pop()
    const pair = last?.isSkipped ? last.pair : await this.#file.undo()
    if (pair) this.#queue.unshift(pair)
    else tell('There is nothing to undo.\n')
  }

  async #show(): Promise<void> {
    const [pair] = this.#queue
    if (!pair) return
    const similarity = this.#similarities.get(nameOf(pair))
    const { spans } = alignTexts(pair.a, pair.b)
    const rows = sideBySide(spans, ['A', 'B'], { columns: columnsOf(), colour: colourOf() })
    const facts = [
      ...(similarity === undefined ? [] : [`${percent(similarity)} similar`]),
      `${count(this.#queue.length)} left`,
    ]
    const text = ['', ...rows, '', `${facts.join(', ')}. ${paint('dim', KEYS)}`, ''].join('\n')
    if (this.#invocation.flag('json')) tell(text)
    else await print(text)
  }

  async report(): Promise<void> {
    const { labels, path } = this.#file
    const duplicates = labels.filter(({ isDuplicate }) => isDuplicate).length
    const different = labels.length - duplicates
    const skipped = this.#done.filter(({ isSkipped }) => isSkipped).length
    const left = this.#queue.length + skipped
    if (this.#invocation.flag('json')) {
      await printJson({ file: path, labels: labels.length, duplicates, different, skipped, left })
      return
    }
    const kinds = `${count(duplicates)} duplicates, ${count(different)} different`
    const next =
      duplicates > 0 && different > 0
        ? `Choose a threshold: prestige tune --pairs ${path}`
        : 'tune needs both kinds; a hundred of each are a start.'
    await print(
      `${path}: ${countOf(labels.length, 'label')} (${kinds}), ${count(left)} left. ${next}\n`,
    )
  }
}

async function* lines(signal: AbortSignal): AsyncGenerator<string> {
  for await (const batch of lineBatches([], signal)) {
    for (const { bytes, number } of batch) {
      const typed = (bytes ?? '').toString().trim()
      if (typed === '') continue
      const answer = ANSWERS.get(typed.toLowerCase())
      if (answer === undefined) {
        throw usageFailure(`Answer ${number} is "${typed.slice(0, 40)}". Answers are: ${KEYS}.`)
      }
      yield answer
    }
  }
}

/** Keys as they are pressed, without Enter. */
async function* keys(signal: AbortSignal): AsyncGenerator<string> {
  const { stdin } = process
  const stop = () => stdin.destroy()
  signal.addEventListener('abort', stop)
  stdin.setRawMode(true)
  try {
    for await (const piece of stdin) {
      for (const key of String(piece).toLowerCase()) {
        // Ctrl-C is no signal while keys are read one by one.
        if (key === '\u0003') process.kill(process.pid, 'SIGINT')
        else if (key === '\u0004') return
        else if (ANSWERS.has(key)) yield key
        else tell(`Keys: ${KEYS}.\n`)
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    if (!stdin.destroyed) stdin.setRawMode(false)
    signal.removeEventListener('abort', stop)
  }
}

function noAnswers(): Error {
  return usageFailure(
    `There are no answers on stdin. Run label in a terminal, or give a line for every answer (${KEYS}): printf 'y\\nn\\n' | prestige label …`,
  )
}
