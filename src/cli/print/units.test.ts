import { describe, expect, it } from 'vitest'

import { table } from './table.ts'
import { count, duration, ratio, size } from './units.ts'

describe('numbers for people', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1536, '1.5 KiB'],
    [1024 * 1023.7, '1.0 MiB'],
    [131.4 * 1024 ** 2, '131 MiB'],
    [5 * 1024 ** 4, '5.0 TiB'],
  ])('write %d bytes as %s', (bytes, text) => expect(size(bytes)).toBe(text))

  it.each([
    [0, '0.0 s'],
    [59_940, '59.9 s'],
    [59_960, '1 min 00 s'],
    [185_000, '3 min 05 s'],
    [7_380_000, '2 h 03 min'],
  ])('write %d milliseconds as %s', (ms, text) => expect(duration(ms)).toBe(text))

  it('separate thousands', () => {
    expect([0, 999, 1000, 1234567].map(count)).toEqual(['0', '999', '1,000', '1,234,567'])
  })

  it('have a ratio also for nothing, and where nothing had to be kept', () => {
    expect([ratio(3, 2), ratio(0, 0), ratio(5, 0)]).toEqual(['1.50×', '1.00×', 'all of it'])
  })

  it('stand in columns', () => {
    const rows = [
      ['a', '1', 'x'],
      ['long', '10', ''],
    ]
    expect(table(rows, ['left', 'right', 'left'])).toBe('  a      1  x\n  long  10\n')
  })
})
