/**
 * Boilerplate: passages that many of the kept documents share. They are found when everything is decided about, and
 * before anything is published; decisions are made about whole texts and do not depend on them.
 *
 * Invariant: every word that is cut is part of a window of at least `wordsMin` words that at least `documentsMin`
 * documents have. What is cut is listed in `passages.jsonl`, each passage in its very bytes, so that it can be restored.
 *
 * Passages are cut from documents of the run in which there are enough of them, and of later runs. Outputs of earlier
 * runs stay as they are.
 */

import type { Backend } from '../../backends/index.ts'
import {
  digestOf,
  passageSpans,
  passageUnits,
  passageWindows,
  sharedRuns,
  textUnits,
} from '../../fingerprint/index.ts'
import { cutText, type CutSpans } from '../../input/index.ts'
import { countOf } from '../../platform/units.ts'
import { writeLines } from '../output/publish.ts'
import { PASSAGES_FILE, recordPath } from '../output/records.ts'
import type { Held } from '../phases/leases.ts'
import { listRuns, type RunRow } from '../runs.ts'
import { countWindows } from './count-windows.ts'
import { clearCuts, keepNotes, KeptCuts, notesKept } from './cuts.ts'
import { type KeptText, keptTexts } from './kept-texts.ts'
import { passageSettings } from './settings.ts'
import { type SharedWindows, sharedWindows } from './shared-windows.ts'

/** A passage, in its very bytes: in `passages.jsonl` before the first document that has it. */
export interface PassageLine {
  readonly passage: string
  readonly words: number
  /** The fewest documents that have a part of it, of this run and those before it. */
  readonly documents: number
  readonly text: string
}

/** A document with passages; places are bytes of its text in UTF-8. */
export interface PassageDocumentLine {
  readonly id: string
  readonly source: string
  readonly file: string
  /** Whether it is written without them. */
  readonly cut: boolean
  /** Why it is not. */
  readonly reason?: 'nothing-left'
  readonly spans: readonly {
    readonly start: number
    readonly end: number
    readonly passage: string
  }[]
}

/** So many ids are remembered; a passage that is met again afterwards is listed again. */
const LISTED_MAX = 1_000_000
const PASSAGE_ID_BYTES = 16

/** Returns what is to be reported. `before` is asked before every shard: whether the run is still ours to publish. */
export async function findPassages(
  backend: Backend,
  run: RunRow,
  held: Held,
  before: () => Promise<void>,
): Promise<readonly string[]> {
  const { action, documentsMin } = passageSettings(run)
  if (action === 'off') return []
  const known = await notesKept(backend, run.id)
  if (known) return known
  await clearCuts(backend, run.id)
  const others = (await listRuns(backend))
    .filter(({ id, status }) => id !== run.id && status !== 'undone')
    .map(({ id }) => id)
  await countWindows(backend, run, others, held, before)
  const shared = await sharedWindows(backend, run.id, others, documentsMin)
  const search = new PassageSearch(backend, run, held, shared)
  await writeLines(recordPath(run.out, run.id, PASSAGES_FILE), search.lines(before))
  const notes = search.notes()
  await keepNotes(backend, held, notes)
  return notes
}

class PassageSearch {
  readonly #backend: Backend
  readonly #run: RunRow
  readonly #held: Held
  readonly #shared: SharedWindows
  readonly #listed = new Set<string>()
  #passages = 0
  #documents = 0
  #bytes = 0
  #leftWhole = 0

  constructor(backend: Backend, run: RunRow, held: Held, shared: SharedWindows) {
    this.#backend = backend
    this.#run = run
    this.#held = held
    this.#shared = shared
  }

  /** The lines of `passages.jsonl`. Cuts are kept on the way. */
  async *lines(before: () => Promise<void>): AsyncGenerator<PassageLine | PassageDocumentLine> {
    for (const shard of this.#run.shards) {
      // Others are not read again.
      if (!this.#shared.shards.has(shard.index)) continue
      await before()
      const cuts = new KeptCuts(this.#backend, this.#held, shard.index)
      for await (const document of keptTexts(this.#backend, this.#run, shard)) {
        const lines = this.#look(document)
        yield* lines
        const last = lines.at(-1)
        if (last && 'cut' in last && last.cut) await cuts.add(document.position, spansOf(last))
      }
      await cuts.flush()
    }
  }

  notes(): string[] {
    const { action, documentsMin, wordsMin } = passageSettings(this.#run)
    if (this.#documents + this.#leftWhole === 0) {
      return [
        `No passage of ${wordsMin} words or more is in ${documentsMin} kept documents or more.`,
      ]
    }
    const where = `runs/${this.#run.id}/${PASSAGES_FILE}`
    const many = countOf(this.#passages, 'passage')
    const bytes = countOf(this.#bytes, 'byte')
    const documents = `${countOf(this.#documents, 'document')} (${bytes})`
    const notes =
      action === 'cut'
        ? [`Cut ${many} from ${documents}. What was cut is in ${where}.`]
        : [`Found ${many} in ${documents}, listed in ${where}.`]
    if (this.#leftWhole > 0) {
      notes.push(
        `${countOf(this.#leftWhole, 'document')} with nothing but such passages ${this.#leftWhole === 1 ? 'is' : 'are'} kept whole: see "reason" in ${where}.`,
      )
    }
    const earlier = [...this.#shared.earlier]
    if (action === 'cut' && earlier.length > 0) {
      notes.push(
        `Documents of earlier runs (${earlier.join(', ')}) still have passages that are cut now: fewer than ${documentsMin} documents had them then. To cut them there too, undo these runs and process their files again.`,
      )
    }
    return notes
  }

  #look({ id, source, path: file, text }: KeptText): (PassageLine | PassageDocumentLine)[] {
    const { action, by, wordsMin } = passageSettings(this.#run)
    const units = passageUnits(text, by)
    const windows = passageWindows(units, wordsMin)
    const runs = sharedRuns(windows, (hash) => this.#shared.documents.get(hash))
    if (runs.length === 0) return []
    const lines: PassageLine[] = []
    const spans = passageSpans(text, units, runs, wordsMin).map(
      ({ start, end, words, documents }) => {
        const bytes = text.subarray(start, end)
        const passage = digestOf(bytes).toString('hex', 0, PASSAGE_ID_BYTES)
        if (this.#isFirst(passage)) {
          lines.push({ passage, words, documents, text: bytes.toString('utf8') })
        }
        return { start, end, passage }
      },
    )
    if (spans.length === 0) return []
    const left = cutText(
      text,
      spans.map(({ start, end }) => [start, end] as const),
    )
    const isLeft = textUnits(left).hashes.length > 0
    if (isLeft) {
      this.#documents++
      this.#bytes += text.length - left.length
    } else this.#leftWhole++
    const cut = action === 'cut' && isLeft
    return [...lines, { id, source, file, cut, ...(!isLeft && { reason: 'nothing-left' }), spans }]
  }

  #isFirst(passage: string): boolean {
    if (this.#listed.has(passage)) return false
    if (this.#listed.size >= LISTED_MAX) this.#listed.clear()
    this.#listed.add(passage)
    this.#passages++
    return true
  }
}

function spansOf({ spans }: PassageDocumentLine): CutSpans {
  return spans.map(({ start, end }) => [start, end] as const)
}
