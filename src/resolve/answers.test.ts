import { describe, expect, it } from 'vitest'

import { Answers } from './answers.ts'
import type { Ended } from './resolve.ts'

const id = (text: string) => Buffer.alloc(16, text)
const ended: Ended = {
  status: 'exact',
  id: id('x'),
  representative: id('x'),
  similarity: 1,
  candidates: 0,
  compared: 0,
  passedOver: 0,
}

describe('answers in memory', () => {
  it('are of one groupKey and one input, and end by age', () => {
    const answers = new Answers(10, 100)
    answers.keep(id('a'), id('x'), ended, 0, answers.epoch)
    expect(answers.get(id('a'), id('x'), 99)).toBe(ended)
    expect(answers.get(id('b'), id('x'), 99)).toBeUndefined()
    expect(answers.get(id('a'), id('y'), 99)).toBeUndefined()
    expect(answers.get(id('a'), id('x'), 100)).toBeUndefined()
  })

  it('are not kept when something was forgotten after they were asked for', () => {
    const answers = new Answers(10, 100)
    const { epoch } = answers
    answers.clear()
    answers.keep(id('a'), id('x'), ended, 0, epoch)
    expect(answers.get(id('a'), id('x'), 0)).toBeUndefined()
  })

  it('make room by dropping what was asked for longest ago', () => {
    const answers = new Answers(2, 100)
    for (const name of ['x', 'y']) answers.keep(id('a'), id(name), ended, 0, answers.epoch)
    answers.get(id('a'), id('x'), 1)
    answers.keep(id('a'), id('z'), ended, 0, answers.epoch)
    expect(answers.get(id('a'), id('y'), 1)).toBeUndefined()
    expect(answers.get(id('a'), id('x'), 1)).toBe(ended)
  })
})
