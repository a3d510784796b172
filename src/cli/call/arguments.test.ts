import { describe, expect, it } from 'vitest'

import { readInvocation } from './arguments.ts'
import { Failure } from './failure.ts'
import { readDuration } from '../print/units.ts'

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

  it('may have the names of other tools', () => {
    const found = read('dedupe', 'in', '--output', 'out', '-n', '--jaccard=0.9', '--num_perm', '64')
    expect(found.operands).toEqual(['in'])
    expect([found.text('out'), found.flag('plan')]).toEqual(['out', true])
    expect([found.text('threshold'), found.text('slots')]).toEqual(['0.9', '64'])
    expect([found.typedName('threshold'), found.typedName('keep')]).toEqual(['--jaccard', '--keep'])
    expect(read('dedupe', 'in', '--dry-run').flag('plan')).toBe(true)
    expect(read('dedupe', 'in', '-q', '-q').flag('quiet')).toBe(true)
    expect(read('put', 'k', '--', '--num_perm').operands).toEqual(['k', '--num_perm'])
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
    [['put', 'a', '-5'], 'put has no option -5. Put operands that begin with a dash'],
    [['get', 'a', '--json=1'], '--json takes no value.'],
    [['put', 'a', 'b', '--ttl'], '--ttl needs a value: --ttl TIME.'],
    [['keys', '--prefix', '--json'], 'write --prefix=--json'],
    [
      ['put', 'a', 'b', '--durability', 'fsnyc'],
      'one of fsync, os, not "fsnyc". Did you mean "fsync"?',
    ],
    [['get', 'caf\ufffd'], 'is not valid UTF-8, or contains U+FFFD'],
  ])('answers the mistake in %j', (args, message) => {
    expect(() => read(...args)).toThrow(Failure)
    expect(() => read(...args)).toThrow(message)
  })

  it.each([
    [['dedupe', 'in', '-o', 'out', '--dedup', 'exact'], 'prestige config init'],
    [['dedupe', 'in', '-o', 'out', '--canonical', 'none'], 'canonical.profile'],
    [['dedupe', 'in', '-o', 'out', '--store', 'x'], '--state'],
    [['dedupe', 'in', '-o', 'out', '--namespace', 'x'], 'dedupe has no option --namespace'],
    [['dedupe', 'in', '-o', 'out', '--model', 'x'], 'semantic.model'],
    [['dedupe', 'in', '-o', 'out', '--semantic-threshold', '0.9'], 'semantic.threshold'],
    [['dedupe', 'in', '-o', 'out', '--gc', 'manual'], 'dedupe has no option --gc'],
    [['dedupe', 'in', '-o', 'out', '--against', 's', '--state', 't'], '--state has no effect'],
    [['dedupe', 'in', '-o', 'out', '--against', 's', '--lease', '9'], '--lease has no effect'],
    [['dedupe', 'in', '-o', 'out', '--plan', '--run', 'x'], '--run has no effect'],
    [['dedupe', 'in', '--plan', 'plan.jsonl', '-o', 'out'], 'Write --plan=plan.jsonl'],
    [['dedupe', '--input', 'in', '-o', 'out'], 'Inputs are arguments: prestige dedupe INPUT...'],
    [['dedupe', 'in', '--column', 'body', '-o', 'out'], '--text-field'],
    [['dedupe', 'in', '--bands', '9', '-o', 'out'], 'near.bands'],
    [
      ['dedupe', 'in', '--jaccard', '0.9', '--threshold', '0.8'],
      '--jaccard and --threshold are the same option: --jaccard 0.9, --threshold 0.8.',
    ],
    [['dedupe', 'in', '-o', 'a', '-o', 'b'], '-o is given twice: -o a, -o b. Give only one'],
    [['dedupe', 'in', '--output=a', '-o', 'b'], '--output and -o are the same option'],
    [['dedupe', 'in', '--plan=a', '-n'], '--plan and -n are the same option'],
    [['get', 'k', '--store', 'a', '--store', 'b'], '--store is given twice'],
    [['get', 'k', '--jaccard', '1'], 'get has no option --jaccard'],
    [['resolve', '--dedup', 'semantic'], 'resolve has no option --dedup'],
    [['resolve', '--similarity-min', '0.6'], '--threshold'],
    [['resolve', '--fidelity', 'own'], 'resolve has no option --fidelity'],
    [['resolve', '--id-field', 'id'], '--id-field has no effect without --jsonl'],
    [['resolve', '--jsonl', '--dimensions', '3'], 'no effect without --vector-field'],
    [['resolve', '--stats', '--strict'], '--strict has no effect with --stats'],
    [['members', 'x', '--dedup', 'near'], 'members has no option --dedup'],
    [['explain', 'a', 'b', '--similarity-min', '0.2'], '--threshold'],
    [['explain', 'a', 'b', '--store', 's'], '--store has no effect'],
    [['tune', '--pairs', 'p', '--model', 'm'], '--model has no effect without --semantic'],
    [['tune', '--pairs', 'p', '--semantic', '--slots', '64'], 'no effect with --semantic'],
    [['tune', '--pairs', 'p', '--semantic', '--canonical', 'none'], 'no effect with --semantic'],
    [['tune', '--pairs', 'p', '--store', 's'], 'tune has no option --store'],
    [['keys', '--durability', 'os'], 'keys has no option --durability'],
    [['models', '--store', 's'], 'models has no option --store'],
    [['undo', 'r', '--store', 's'], '--state'],
    [['ledger', 'get', 'x', '--limit', '3'], '--limit has no effect with ledger get'],
    [['ledger', 'stats', '--after', 'x'], '--after has no effect with ledger stats'],
    [['ledger', 'list', '--canonical', 'none'], 'ledger has no option --canonical'],
    [['reembed', '--dedup', 'near'], 'reembed has no option --dedup'],
  ])('refuses what would have no effect in %j', (args, message) => {
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
