import { describe, expect, it } from 'vitest'

import { readInvocation } from './arguments.ts'
import { Failure } from './failure.ts'
import { readDuration } from './units.ts'

const { signal } = new AbortController()
const read = (...args: string[]) => readInvocation(args, signal)

describe('arguments', () => {
  it('may have options anywhere before --', () => {
    const found = read('--store', 's', 'put', '-qe', 'k', '--ttl=5m', '--', '-v')
    expect([found.command, found.operands]).toEqual(['put', ['k', '-v']])
    expect([found.text('store'), found.text('ttl')]).toEqual(['s', '5m'])
    expect([found.flag('quiet'), found.flag('escaped'), found.flag('json')]).toEqual([
      true,
      true,
      false,
    ])
  })

  it('may be a lone dash, which is no option', () => {
    expect(read('put', 'k', '-').operands).toEqual(['k', '-'])
    expect(read('tune', '--pairs', '-').text('pairs')).toBe('-')
  })

  it.each([
    [['gte', 'x'], 'There is no command "gte". Did you mean "get"?'],
    [['exprot', 'x'], 'Did you mean "export"?'],
    [['rm', 'x'], 'Did you mean "del"?'],
    [['toString'], 'There is no command "toString". See'],
    [['constructor', 'x'], 'There is no command "constructor".'],
    [['--json'], 'Name a command.'],
    [['get'], 'get needs KEY. Usage: prestige get KEY'],
    [['get', 'a', 'b'], '"b" is one argument too many'],
    [['stats', 'a'], 'Usage: prestige stats'],
    [['put', 'a', 'b', '--tll', '1s'], 'put has no option --tll. Did you mean "--ttl"?'],
    [['get', 'a', '--ttl', '1s'], 'get has no option --ttl. See'],
    [['get', 'a', '--toString'], 'get has no option --toString.'],
    [['put', 'a', '-5'], 'put has no option -5. What begins with a dash'],
    [['get', 'a', '--json=1'], '--json takes no value.'],
    [['put', 'a', 'b', '--ttl'], '--ttl needs a value: --ttl TIME.'],
    [['keys', '--prefix', '--json'], 'say --prefix=--json'],
    [
      ['put', 'a', 'b', '--durability', 'fsnyc'],
      'one of fsync, os; not "fsnyc". Did you mean "fsync"?',
    ],
    [['get', 'caf\ufffd'], 'is not valid UTF-8, or holds U+FFFD'],
  ])('answers the mistake in %j', (args, message) => {
    expect(() => read(...args)).toThrow(Failure)
    expect(() => read(...args)).toThrow(message)
  })

  it('count in whole numbers', () => {
    expect(read('keys', '--limit', '10').wholeNumber('limit')).toBe(10)
    expect(read('keys').wholeNumber('limit')).toBeUndefined()
    for (const text of ['many', '1.5', '', '1e3', '99999999999999999'])
      expect(() => read('keys', `--limit=${text}`).wholeNumber('limit')).toThrow('whole number')
  })

  it('tell shares of one', () => {
    const share = (text: string) =>
      read('explain', 'a', 'b', `--threshold=${text}`).share('threshold')
    expect(['0.5', '.25', '1', '1.0'].map(share)).toEqual([0.5, 0.25, 1, 1])
    expect(read('explain', 'a', 'b').share('threshold')).toBeUndefined()
    for (const text of ['0', '1.1', '50%', '', '-0.5', '1e-3', 'NaN', '0.'])
      expect(() => share(text)).toThrow('greater than 0 and at most 1')
  })

  it('tell time in milliseconds, seconds, minutes, hours and days', () => {
    const times = ['500ms', '10s', '5m', '1.5h', '7d'].map((text) => readDuration(text, 'ttl'))
    expect(times).toEqual([500, 10_000, 300_000, 5_400_000, 604_800_000])
    for (const text of ['10', 'soon', '-1s', '0s', '5 m', '', 'ms', '1.s'])
      expect(() => readDuration(text, 'ttl')).toThrow('a time like')
  })
})
