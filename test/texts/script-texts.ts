/**
 * Texts of many scripts and kinds from a seed, with about the letters, words and lengths of words of real ones. For
 * measuring what edits do to similarity; nobody could read them.
 */

import { randomWords } from '../../src/fingerprint/mix.ts'

export interface Random {
  /** At least 0 and less than 1. */
  next(): number
  below(limit: number): number
}

export function randomOf(seed: number): Random {
  const word = randomWords(seed)
  const next = () => word() / 2 ** 32
  return { next, below: (limit) => Math.floor(next() * limit) }
}

/** A running text to take pieces of, and how its words are found. */
export interface ScriptText {
  readonly name: string
  readonly text: string
  /** Characters in a word, where nothing separates words. */
  readonly wordLength?: number | undefined
}

interface Script {
  /** The most frequent first. */
  readonly letters: readonly string[]
  /** The shortest word, and how many more characters the longest has. */
  readonly word: readonly [least: number, more: number]
  readonly space: string
  readonly stop: string
  readonly wordLength?: number
}

const range = (first: number, count: number, step = 1) =>
  Array.from({ length: count }, (_, at) => String.fromCodePoint(first + at * step))

const SCRIPTS: Readonly<Record<string, Script>> = {
  Latin: script('etaoinshrdlcumwfgypbvkxjqz', [1, 9]),
  Finnish: script('aitneslokuämvrjhypdögbfcwå', [2, 13]),
  Cyrillic: script('оеаинтсрвлкмдпуяыьгзбчйхжшюцщэф', [1, 11]),
  Arabic: script('ايلمنوترعدبهسفكقحجشةصخزطىضذثغظ', [2, 7]),
  Hindi: script('ारकेनतसी्मिहपलोयवदजगबटशुभचँखथधझआइउऔ', [1, 8]),
  Tamil: script('க்துபாமிரதனவலளடெைேணயசறஅஇஎஉநஒ', [3, 12]),
  Korean: { ...script('', [2, 3]), letters: range(0xac00, 700, 16) },
  Chinese: { ...unspaced('。', 2), letters: range(0x4e00, 2500, 8) },
  Japanese: {
    ...unspaced('。', 2),
    letters: [...range(0x3042, 70), ...range(0x30a2, 60), ...range(0x4e00, 900, 20)],
  },
  Thai: { ...unspaced(' ', 4), letters: Array.from('านรอกเงมยลวดทสตะปบคหแจพชขใโไผถศณธฐภซญฟ่้ิีัุู์็ึ') },
}

function script(letters: string, [least, more]: readonly [number, number]): Script {
  return { letters: Array.from(letters), word: [least, more], space: ' ', stop: '. ' }
}

function unspaced(stop: string, wordLength: number): Omit<Script, 'letters'> {
  return { word: [wordLength, 1], space: '', stop, wordLength }
}

/** Frequent things are much more frequent than others. */
function pick<T>(random: Random, things: readonly T[], slope: number): T {
  return things[Math.floor(random.next() ** slope * things.length)]!
}

function vocabularyOf(random: Random, { letters, word: [least, more] }: Script): string[] {
  return Array.from({ length: 6000 }, () => {
    // Two throws: words of middle length are the most frequent.
    const length = least + Math.floor(((random.next() + random.next()) / 2) * more)
    return Array.from({ length }, () => pick(random, letters, 1.7)).join('')
  })
}

function sentences(random: Random, script: Script, length: number): string {
  const vocabulary = vocabularyOf(random, script)
  const parts: string[] = []
  for (let made = 0, words = 0; made < length; words++) {
    const part =
      pick(random, vocabulary, 2.2) + (random.below(11) === 0 ? script.stop : script.space)
    parts.push(words % 60 === 59 ? `${part.trimEnd()}\n` : part)
    made += part.length
  }
  return parts.join('')
}

function lines(length: number, line: (number: number) => string, end = '\n'): string {
  const made: string[] = []
  for (let size = 0; size < length;) {
    const one = line(made.length)
    size += one.length + 1
    made.push(one)
  }
  return made.join(end)
}

const KEYWORDS = ['const', 'return', 'if', 'function', 'await', 'for', 'import', 'export', 'throw']

function kindsOf(random: Random): Readonly<Record<string, (length: number) => string>> {
  const latin = SCRIPTS['Latin']!
  const words = vocabularyOf(random, latin).filter((word) => word.length > 2)
  const word = () => pick(random, words, 2)
  const name = () => word() + word().replace(/^./, (first) => first.toUpperCase())
  const of = (alphabet: string) => (length: number) =>
    Array.from({ length }, () => alphabet[random.below(alphabet.length)]).join('')
  const two = (limit: number) => String(1 + random.below(limit)).padStart(2, '0')
  const code = () =>
    [
      `${pick(random, KEYWORDS, 1)} ${name()} = ${word()}.${name()}(${word()}, ${random.below(20)})`,
      `  if (${name()} === ${word()}) { ${word()}(${name()}) }`,
      `  // ${Array.from({ length: 3 + random.below(6) }, word).join(' ')}`,
    ][random.below(3)]!
  const letter = of('abcdefghijklmnopqrstuvwxyz')
  const minified = () =>
    [
      `${letter(1)}.${name()}=function(${letter(1)},${letter(1)}){return this.${word()}(${letter(1)})}`,
      `var ${letter(2)}=${letter(1)}.${name()}("${word()}",${random.below(999)})`,
      `if(!${letter(1)}.${word()})throw Error("${word()} ${word()}")`,
      `${letter(2)}.${word()}.push({${word()}:${letter(1)},${word()}:${random.below(99)}})`,
    ][random.below(4)]!
  const time = () => `2026-${two(12)}-${two(28)}T${two(23)}:${two(59)}:${two(59)}Z`
  return {
    code: (length) => lines(length, code),
    minified: (length) => lines(length, minified, ';'),
    log: (length) =>
      lines(
        length,
        () =>
          `${time()} ${word()}-${random.below(9)} ${word()}[${random.below(9999)}]: ${Array.from({ length: 3 + random.below(6) }, word).join(' ')} ${word()}=${random.below(5000)}`,
      ),
    table: (length) =>
      lines(
        length,
        (number) =>
          `${10_000 + number},${word()} ${word()},${word()},${random.below(1e5) / 100},${time().slice(0, 10)},${word()}`,
      ),
    hex: of('0123456789abcdef'),
    base64: of('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'),
  }
}

/** Every script and kind, as long as asked for. */
export function scriptTexts(seed: number, length: number): ScriptText[] {
  const written = Object.entries(SCRIPTS).map(([name, one], at) => ({
    name,
    text: sentences(randomOf(seed + at), one, length),
    wordLength: one.wordLength,
  }))
  const others = Object.entries(kindsOf(randomOf(seed - 1))).map(([name, make]) => ({
    name,
    text: make(length),
    wordLength: name === 'hex' || name === 'base64' ? 4 : undefined,
  }))
  return [...written, ...others]
}
