/**
 * Lays two texts side by side: which words (code points, in scripts without spaces) they share in order, and
 * which only one of them has.
 *
 * Invariant: the spans give back both texts, character for character. Words are compared in their canonical
 * form and shown as they are; texts whose canonical form is of the whole (`json`, a function of the user's) are
 * shown in that form. Not here: how it looks on a screen.
 */

import { type CanonicalInput, canonicalProfile } from '../canonical/index.ts'
import { requireText, type TextInput } from '../fingerprint/index.ts'
import { readOptions } from '../platform/options.ts'
import { canonicalText } from './compare-texts.ts'
import { matchSequences, type Run } from './matching.ts'
import { alignOptions, type AlignOptions } from './options.ts'
import { type Tokens, tokensOf, tokenText } from './tokens.ts'

export type Span =
  /** In both; case, form and white space may differ where canonicalisation takes them for the same. */
  | { readonly kind: 'same'; readonly a: string; readonly b: string }
  | { readonly kind: 'only-a'; readonly a: string }
  | { readonly kind: 'only-b'; readonly b: string }

export interface Alignment {
  readonly spans: readonly Span[]
  /** `false`: the texts are too long or too different, and more may be shared than is shown. */
  readonly isComplete: boolean
}

export function alignTexts(a: TextInput, b: TextInput, options: AlignOptions = {}): Alignment {
  const { canonical, editsMax } = readOptions(alignOptions, options, 'How texts are aligned')
  const isOfWords = typeof canonical === 'string' && canonical !== 'none' && canonical !== 'json'
  const shown = (text: TextInput) =>
    isOfWords ? textOf(text) : textOf(canonicalText(text, canonical))
  const first = tokensOf(shown(a))
  const second = tokensOf(shown(b))
  const numbers = isOfWords ? wordNumbers(canonical) : exactNumbers()
  const { runs, isComplete } = matchSequences(numbers(first), numbers(second), editsMax)
  return { spans: spansOf(first, second, runs), isComplete }
}

function textOf(text: TextInput): string {
  requireText(text)
  return typeof text === 'string' ? text : Buffer.from(text).toString()
}

type Numbering = (tokens: Tokens) => Int32Array

function exactNumbers(): Numbering {
  const numbers = new Map<string, number>()
  return (tokens) => numbered(tokens, (text) => numberIn(numbers, text))
}

/**
 * The canonical form of a word has no white space around it, so that does not count. Canonicalising costs more
 * than looking up, and a text has few different words.
 */
function wordNumbers(canonical: CanonicalInput): Numbering {
  const { canonicalise } = canonicalProfile(canonical)
  const numbers = new Map<string, number>()
  const known = new Map<string, number>()
  const numberOf = (word: string) => {
    const seen = known.get(word)
    if (seen !== undefined) return seen
    const number = numberIn(numbers, Buffer.from(canonicalise(Buffer.from(word))).toString())
    known.set(word, number)
    return number
  }
  return (tokens) => numbered(tokens, numberOf)
}

function numberIn(numbers: Map<string, number>, text: string): number {
  const number = numbers.get(text) ?? numbers.size
  numbers.set(text, number)
  return number
}

function numbered(tokens: Tokens, numberOf: (text: string) => number): Int32Array {
  return Int32Array.from({ length: tokens.count }, (_, at) => numberOf(tokenText(tokens, at)))
}

function spansOf(a: Tokens, b: Tokens, runs: readonly Run[]): Span[] {
  const spans: Span[] = []
  let [atA, atB] = [0, 0]
  for (const run of [...runs, { a: a.count, b: b.count, length: 0 }]) {
    if (run.a > atA) spans.push({ kind: 'only-a', a: between(a, atA, run.a) })
    if (run.b > atB) spans.push({ kind: 'only-b', b: between(b, atB, run.b) })
    atA = run.a + run.length
    atB = run.b + run.length
    if (run.length === 0) continue
    spans.push({ kind: 'same', a: between(a, run.a, atA), b: between(b, run.b, atB) })
  }
  return spans
}

function between({ text, starts }: Tokens, from: number, end: number): string {
  return text.slice(starts[from], starts[end])
}
