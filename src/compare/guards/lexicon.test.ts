import { describe, expect, it } from 'vitest'

import { codesOf } from './codes.ts'
import { differingCount } from './content.ts'
import { denied, replaced } from './context.ts'
import {
  companyBits,
  IS_NO_NAME,
  IS_OF_PAGE,
  IS_SPECIAL,
  languageBits,
  Lexicon,
  lexicon,
} from './lexicon.ts'
import { readingOf } from './reading.ts'

describe('a lexicon', () => {
  it('gives a form one id, whatever its capitals and wherever it stands', () => {
    const words = new Lexicon()
    const id = words.idOf('window')
    expect(words.idOfCodes(codesOf('a Window.'), 2, 8)).toBe(id)
    expect(words.idOf('windows')).not.toBe(id)
    expect(words.form(id)).toBe('window')
  })

  it('keeps ids and forms when it grows', () => {
    const words = new Lexicon()
    const forms = Array.from({ length: 70_000 }, (_none, at) => `word${at}`)
    const ids = forms.map((form) => words.idOf(form))
    expect(new Set(ids).size).toBe(forms.length)
    expect(forms.every((form, at) => words.idOf(form) === ids[at])).toBe(true)
    expect(words.form(ids.at(-1) ?? 0)).toBe('word69999')
  })

  it('knows what the tables say of a form', () => {
    const words = new Lexicon()
    const traits = (form: string) => words.traits(words.idOf(form))
    expect(traits('never') & IS_SPECIAL).not.toBe(0)
    expect(traits('views') & IS_OF_PAGE).not.toBe(0)
    expect(companyBits(traits('ich'))).not.toBe(0)
    expect(languageBits(traits('ich'))).toBe(2)
    expect(traits("i'm") & IS_NO_NAME).not.toBe(0)
    expect(traits('window')).toBe(0)
  })
})

describe('texts that were read with different lexicons', () => {
  const [a, b] = [
    'Alice paid 10 euros to Bob and left',
    'Alice paid 20 euros to Bob and never left',
  ]

  /** Texts are read with a new lexicon when the one before has too many forms. */
  function fill(): void {
    const full = lexicon()
    for (let at = 0; lexicon() === full; at++) full.idOf(`filled${at}`)
  }

  it('are compared as if it were one', () => {
    const first = readingOf(a)
    const own = first.termList.lexicon
    fill()
    const second = readingOf(b)
    expect(second.termList.lexicon).not.toBe(own)
    expect(replaced(first, second, 'number')).toEqual({ a: ['10'], b: ['20'] })
    expect(denied(first, second)).toEqual({ a: [], b: ['never'] })
    expect(differingCount(first, second)).toBe(2)
  })
})
