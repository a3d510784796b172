/** Clusters of near duplicates in mixed scripts, from a seed: nobody wrote them. */

import { seededRandom } from '../../src/backends/simulated/backend.ts'

const LETTERS = [
  'abcdefghijklmnopqrstuvwxyz',
  'абвгдежзийклмнопрстуфхцчшщыэюя',
  'कखगघचछजझटठडढतथदधनपफबभमयरलवशषसह',
  '的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生',
  'ابتثجحخدذرزسشصضطظعغفقكلمنهوي',
  'あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほ',
] as const

export interface Texts {
  readonly random: () => number
  readonly below: (limit: number) => number
  readonly words: (count: number) => string[]
  /** As another might have written it: a few words changed, added or left out. */
  readonly variant: (words: readonly string[], changes: number) => string
  readonly shuffled: <T>(items: readonly T[]) => T[]
}

export function textsOf(seed: number): Texts {
  const random = seededRandom(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const word = (letters: string) => {
    const all = Array.from(letters)
    return Array.from({ length: 2 + below(6) }, () => all[below(all.length)]).join('')
  }
  const words = (count: number) => {
    const letters = LETTERS[below(LETTERS.length)]!
    return Array.from({ length: count }, () => word(letters))
  }
  return {
    random,
    below,
    words,
    variant(own, changes) {
      const changed = [...own]
      for (let count = 0; count < changes; count++) {
        const [fresh] = words(1)
        const at = below(changed.length)
        const dice = random()
        if (dice < 0.5) changed[at] = fresh!
        else if (dice < 0.75) changed.splice(at, 0, fresh!)
        else if (changed.length > 4) changed.splice(at, 1)
      }
      return changed.join(' ')
    },
    shuffled(items) {
      const all = [...items]
      for (let at = all.length - 1; at > 0; at--) {
        const other = below(at + 1)
        ;[all[at], all[other]] = [all[other]!, all[at]!]
      }
      return all
    },
  }
}

/** As many texts as asked for, in clusters of about five that overlap a little. */
export function clusteredTexts(seed: number, count: number, wordCount = 12): string[] {
  const texts = textsOf(seed)
  const made = new Set<string>()
  while (made.size < count) {
    const words = texts.words(wordCount + texts.below(wordCount))
    for (let copy = 0; copy < 5 && made.size < count; copy++) {
      made.add(texts.variant(words, texts.below(4)))
    }
  }
  return texts.shuffled([...made])
}

/** Nothing is missed by bands of one slot each: two texts that share a shingle nearly always share a slot. */
export const RECALL_ONE = { slots: 128, bands: 128, rows: 1 } as const
