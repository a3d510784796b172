/** The command line, command by command: what it prints, what it never prints, and its exit codes. */

import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { open } from 'lmdb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { commands, globalOptions, storeOptions } from '../src/cli/declarations/index.ts'
import { inProcess as prestige, type RunOptions, shell } from './children/cli.ts'

let directory: string
let store: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-cli-'))
  store = join(directory, 'store')
})
afterAll(() => rm(directory, { recursive: true }))

const run = (args: readonly string[], options: RunOptions = {}) =>
  prestige(args, { store, ...options })

describe('put and get', () => {
  it('says whether a value is new, a duplicate or unchanged', async () => {
    expect((await run(['put', 'say/1', 'hello'])).text).toBe('created "say/1": new content, 5 B\n')
    expect((await run(['put', 'say/2', 'hello'])).text).toBe(
      'created "say/2": duplicate of "say/1", same bytes; 5 B saved\n',
    )
    expect((await run(['put', 'say/2', 'hello'])).text).toBe(
      'unchanged "say/2": it had this value already (5 B)\n',
    )
    expect((await run(['put', 'say/2', 'bye', '--quiet'])).text).toBe('')
  })

  it('prints the receipt as JSON', async () => {
    await run(['put', 'json/1', 'a value'])
    const { code, json } = await run(['put', 'json/2', 'a value', '--json'])
    expect(code).toBe(0)
    expect(json).toMatchObject({
      key: 'created',
      content: 'duplicate',
      method: 'digest',
      of: { firstKey: 'json/1' },
      bytes: 7,
      bytesSaved: 7,
    })
  })

  it('links values that are the same in canonical form, and keeps their bytes', async () => {
    const other = { store: join(directory, 'canonical') }
    await run(['put', 'a', '{"x":1,"y":2}', '--canonical', 'json'], other)
    const linked = await run(['put', 'b', '{ "y": 2, "x": 1 }'], other)
    expect(linked.text).toBe('created "b": 18 B, linked to "a", same canonical form\n')
    expect((await run(['get', 'b'], other)).text).toBe('{ "y": 2, "x": 1 }')
    const mismatch = await run(['put', 'b', '1', '--canonical', 'unicode'], other)
    expect(mismatch.code).toBe(2)
    expect(mismatch.err).toContain('written with other settings')
    expect((await run(['put', 'c', 'no json'], other)).code).toBe(2)
    expect((await run(['put', 'c', 'no json', '--on-unreadable', 'bytes'], other)).code).toBe(0)
  })

  it('gives back all 256 bytes that came by stdin, and adds nothing', async () => {
    const value = Buffer.from(Array.from({ length: 1024 }, (_, at) => at % 256))
    await run(['put', 'bytes'], { input: value })
    expect((await run(['get', 'bytes'])).out.equals(value)).toBe(true)
    await run(['put', 'bytes again', '-'], { input: value })
    expect((await run(['get', 'bytes again'])).out.equals(value)).toBe(true)
  })

  it('tells an empty value from a missing one', async () => {
    await run(['put', 'empty'], { input: '' })
    await run(['put', 'empty too', ''])
    const empty = await run(['get', 'empty'])
    expect([empty.code, empty.out.length, empty.err]).toEqual([0, 0, ''])
    expect((await run(['get', 'empty too'])).code).toBe(0)
    const missing = await run(['get', 'nothing here'])
    expect([missing.code, missing.out.length]).toEqual([3, 0])
    expect(missing.err).toBe('prestige: There is no key "nothing here".\n')
  })

  it('takes a value from a file, of several megabytes too', async () => {
    const path = join(directory, 'large')
    const value = Buffer.alloc(9_000_001, 'large value ')
    await writeFile(path, value)
    expect((await run(['put', 'large', '--file', path])).text).toContain('8.6 MiB')
    expect((await run(['get', 'large'])).out.equals(value)).toBe(true)
    expect((await run(['put', 'x', '--file', join(directory, 'no')])).code).toBe(3)
    const folder = await run(['put', 'x', '--file', directory])
    expect([folder.code, folder.err]).toEqual([
      2,
      `prestige: --file takes a file, and ${directory} is a directory. To put all files below it: prestige import ${directory}\n`,
    ])
    expect((await run(['put', 'x', 'y', '--file', path])).code).toBe(2)
  })

  it.each([
    ['put a b --if-match deadbeef', '--if-match takes the SHA-256 of a value, 64 digits in hex'],
    ['put a b --max-bytes 0', '--max-bytes must be 1 or more'],
    ['put a b --max-keys 0', '--max-keys 0: must be a whole number, 1 or more'],
    ['put a b --chunk-size 300', '--chunk-size 300: must be a power of two'],
    ['put a b --chunk-from 3', '--chunk-from 3: must be a whole number, 64 or more'],
    ['similar x', 'a new store that finds similar ones: prestige put --dedup near --store OTHER'],
    ['prune --idle-for 1d', 'the first put with --max-keys or --max-bytes on; or prune by --older'],
  ])('refuses %s by the names of options', async (typed, said) => {
    await run(['put', 'a', 'b'])
    const { code, err } = await run(typed.split(' '))
    expect([code, err]).toEqual([2, expect.stringContaining(said)])
    expect(err).not.toMatch(/[a-z][A-Z]|\(\)/)
  })

  it('ends quietly when its reader has seen enough, and loudly when the disk is full', async () => {
    await run(['put', 'pipe'], { input: Buffer.alloc(6_000_000, 'x') })
    const cut = await shell('$P get pipe | head -c 1', store)
    expect([cut.code, cut.text, cut.err]).toEqual([0, 'x', ''])
    const slow = await shell('$P get pipe | (sleep 0.3; wc -c)', store)
    expect([slow.code, Number(slow.text)]).toEqual([0, 6_000_000])
    if (!existsSync('/dev/full')) return
    const full = await shell('$P get pipe > /dev/full', store)
    expect([full.code, full.err]).toEqual([1, 'prestige: The output: no space left on device.\n'])
  })

  it('keeps Hindi, Chinese, Arabic and emoji keys and values', async () => {
    const values = {
      'कुंजी/मान': 'नमस्ते दुनिया',
      '键/值': '你好，世界',
      'مفتاح/قيمة': 'مرحبا بالعالم',
      '🔑👩‍👩‍👧‍👦': '🎁🇩🇪',
    }
    const keep = async ([key, value]: [string, string]) => {
      expect((await run(['put', key, value])).text).toContain(`"${key}"`)
      expect((await run(['get', key])).text).toBe(value)
      expect((await run(['keys', '--prefix', key])).text).toBe(`${key}\n`)
    }
    await Promise.all(Object.entries(values).map(keep))
  })

  it('takes keys and values that begin with a dash after --', async () => {
    await run(['put', '--', '-key', '-5'])
    expect((await run(['get', '--', '-key'])).text).toBe('-5')
    const wrong = await run(['put', 'key', '-5'])
    expect(wrong.code).toBe(2)
    expect(wrong.err).toContain('after --')
  })

  it('forgets a key after its time, and tells when that is', async () => {
    const told = await run(['put', 'later', 'x', '--ttl', '2h', '--json'])
    const { putAt, expiresAt } = (await run(['explain', 'later', '--json'])).json
    expect(expiresAt - putAt).toBe(7_200_000)
    expect(told.json.expiresAt).toBe(expiresAt)
    expect((await run(['put', 'soon', 'x', '--ttl', '1ms'])).text).toContain('; expires 20')
    expect((await run(['get', 'soon'])).code).toBe(3)
    expect((await run(['has', 'soon'])).text).toBe('no\n')
    expect((await run(['collect', '--json'])).json.expiredKeys).toBe(1)
    expect((await run(['put', 'x', 'y', '--ttl=10'])).code).toBe(2)
  })
})

describe('del, has, keys, count, stats, explain, collect, verify', () => {
  const namespace = ['--namespace', 'listing']
  const at = (...args: string[]) => run([...args, ...namespace])
  beforeAll(async () => {
    await at('put', 'b/1', '2')
    await Promise.all([
      at('put', 'a', '1'),
      at('put', 'b/2', '2'),
      at('put', 'c', '3'),
      at('put', '-e', 'caf\\xe9', '4'),
      at('put', '-e', 'line\\x0afeed\\\\', '5'),
    ])
  })

  it('lists keys in byte order, by prefix, after a key, and up to a limit', async () => {
    const lists = await Promise.all([
      at('keys'),
      at('keys', '--prefix', 'b/'),
      at('keys', '--after', 'b/1', '--limit', '2'),
      at('keys', '--limit', '0'),
      at('keys', '--prefix', 'none'),
    ])
    expect(lists.map(({ text }) => text)).toEqual([
      'a\nb/1\nb/2\nc\ncaf\\xe9\nline\\x0afeed\\\\\n',
      'b/1\nb/2\n',
      'b/2\nc\n',
      '',
      '',
    ])
  })

  it('prints keys that are not text so that they can be given back', async () => {
    const lines = (await at('keys', '--after', 'c')).text.trimEnd().split('\n')
    expect((await at('get', '-e', lines[0]!)).text).toBe('4')
    expect((await at('get', '-e', lines[1]!)).text).toBe('5')
    expect((await at('keys', '-e', '--prefix', 'caf\\xe9')).text).toBe('caf\\xe9\n')
    expect((await at('keys', '-0', '--after', 'c')).out).toEqual(
      Buffer.from('caf\xe9\0line\nfeed\\\0', 'latin1'),
    )
    const json = (await at('keys', '--json', '--after', 'c')).text.trimEnd().split('\n')
    expect(json.map((line) => JSON.parse(line))).toEqual([
      { key: { base64: 'Y2Fm6Q==' } },
      { key: 'line\nfeed\\' },
    ])
    expect((await at('get', '-e', '\\q')).code).toBe(2)
  })

  it('refuses an argument that lost bytes on its way instead of using another key', async () => {
    const lossy = await shell(`$P get $'caf\\xe9' --namespace listing`, store)
    expect(lossy.code).toBe(2)
    expect(lossy.err).toContain('not valid UTF-8')
  })

  it('counts keys, and those of a prefix', async () => {
    expect((await at('count')).text).toBe('6\n')
    expect((await at('count', '--json')).json).toEqual({ keys: 6 })
    expect((await at('count', '--prefix', 'b/')).text).toBe('2\n')
    await at('put', 'expired', 'x', '--ttl', '1ms')
    expect((await at('count')).text).toBe('6\n')
    await at('collect')
  })

  it('answers has by word and by exit code', async () => {
    const yes = await at('has', 'a')
    const no = await at('has', 'z')
    expect([yes.code, yes.text, no.code, no.text, no.err]).toEqual([0, 'yes\n', 3, 'no\n', ''])
    expect((await at('has', 'z', '--json')).json).toEqual({ has: false })
    expect((await at('has', 'a', '-q')).text).toBe('')
  })

  it('shows what deduplication saves', async () => {
    expect((await at('stats', '--json')).json).toMatchObject({
      keys: 6,
      contents: 5,
      valueBytes: 6,
      contentBytes: 5,
      bytesSaved: 1,
      settings: { canonical: { name: 'none' }, fidelity: 'own' },
    })
    expect((await at('stats')).text).toMatch(
      /keys +6 +6 B\n +contents +5 +5 B\n +saved +1\.20× +1 B/,
    )
  })

  it('prints the current numbers as a line each time, until it is stopped', async () => {
    const watched = await run(['stats', '--watch=0.1', '--json', ...namespace], {
      meanwhile: async (child) => {
        let lines = 0
        await new Promise<void>((seen) => {
          child.stdout.on('data', (part: Buffer) => {
            lines += part.toString().split('\n').length - 1
            if (lines >= 2) seen()
          })
        })
        child.kill('SIGINT')
      },
    })
    expect(watched.code).toBe(130)
    const [first] = watched.text.trimEnd().split('\n')
    expect(JSON.parse(first ?? '')).toMatchObject({ keys: 6, time: expect.any(String) })
    const refused = await Promise.all([at('stats', '--watch=no'), at('stats', '--watch', '3')])
    expect(refused.map(({ code }) => code)).toEqual([2, 2])
    expect(refused[1]?.err).toContain('Write --watch=3 if 3 is the SECONDS')
  })

  it('says what a monitor needs to know', async () => {
    expect((await at('health', '--json')).json).toMatchObject({
      totalKeys: 6,
      totalObjects: 5,
      totalBytes: 5,
      expiredKeys: 0,
      orphanedObjects: 0,
    })
    expect((await at('health')).text).toMatch(/keys +6 *\n +contents +5 +5 B\n/)
  })

  it('explains why a key points where it points', async () => {
    const { text } = await at('explain', 'b/2')
    expect(text).toContain('duplicate of "b/1", same bytes')
    expect(text).toMatch(/shared with +b\/1\n/)
    expect((await at('explain', 'b/2', '--json')).json).toMatchObject({
      key: 'b/2',
      content: 'duplicate',
      sharedWith: ['b/1'],
    })
    expect((await at('explain', 'b/2', '--json', '--limit', '0')).json.sharedWith).toEqual([])
    expect((await at('explain', '-e', 'caf\\xe9', '--json')).json.key).toEqual({
      base64: 'Y2Fm6Q==',
    })
    expect((await at('explain', 'z')).code).toBe(3)
  })

  it('deletes keys and says which were there', async () => {
    await at('put', 'gone/1', 'x')
    await at('put', 'gone/2', 'y')
    const deleted = await at('del', 'gone/1', 'gone/0')
    expect([deleted.code, deleted.text]).toEqual([0, 'deleted "gone/1"\n"gone/0" was not there\n'])
    expect((await at('del', 'gone/2', 'gone/1', '--json')).json).toEqual({
      deleted: ['gone/2'],
      missing: ['gone/1'],
    })
    expect((await at('del', 'gone/1', '-q')).text).toBe('')
    expect((await at('del', 'x'.repeat(901))).code).toBe(2)
  })

  it('deletes all keys of a prefix, or all, and counts them first', async () => {
    const other = { store: join(directory, 'ranges') }
    const inside = (...args: string[]) => run(args, other)
    for (const key of ['a/1', 'a/2', 'b']) await inside('put', key, 'same')
    const would = await inside('del', '--prefix', 'a/', '--dry-run')
    expect(would.text).toBe('would delete 2 keys with 8 B of values\n')
    expect((await inside('del', '--prefix', 'a/', '-n', '--json')).json).toEqual({
      keys: 2,
      valueBytes: 8,
      dryRun: true,
    })
    expect((await inside('count')).text).toBe('3\n')
    expect((await inside('del', '--prefix', 'a/')).text).toBe('deleted 2 keys with 8 B of values\n')
    const unconfirmed = await inside('clear')
    expect([unconfirmed.code, unconfirmed.err]).toEqual([2, expect.stringContaining('--yes')])
    expect((await inside('clear', '--dry-run')).text).toBe(
      'would delete 1 key with 4 B of values\n',
    )
    expect((await inside('count')).text).toBe('1\n')
    expect((await inside('clear', '--yes')).text).toBe('deleted 1 key with 4 B of values\n')
    expect((await inside('count')).text).toBe('0\n')
    for (const wrong of [['del'], ['del', 'a', '--prefix', 'b'], ['del', 'a', '-n']]) {
      expect((await inside(...wrong)).code).toBe(2)
    }
    expect((await inside('del', '--prefix', '')).err).toContain('prestige clear')
  })

  it('collects what nobody refers to any more', async () => {
    await at('put', 'manual', 'some value')
    await at('del', 'manual', '--gc', 'manual')
    expect((await at('collect')).text).toBe('collected 0 expired keys, 1 content (10 B)\n')
    expect((await at('collect', '--json')).json.contents).toBe(0)
  })

  it('says that a sound store is sound', async () => {
    const sound = await at('verify')
    expect([sound.code, sound.text]).toEqual([0, 'sound: 6 keys, 5 contents, 5 B\n'])
    expect((await at('verify', '--repair', '--json')).json).toMatchObject({
      isSound: true,
      keys: 6,
    })
  })

  it('ends with 4 when the store is damaged', async () => {
    const damaged = join(directory, 'damaged')
    await run(['put', 'a', 'value'], { store: damaged })
    const root = open({ path: damaged, noSubdir: false, maxDbs: 64 })
    const entries = root.openDB<Buffer, Buffer>({
      name: 'entries',
      encoding: 'binary',
      keyEncoding: 'binary',
    })
    const keys = Array.from(entries.getKeys())
    for (const key of keys) await entries.put(key, Buffer.from('nonsense'))
    await root.close()
    expect((await run(['get', 'a'], { store: damaged })).code).toBe(4)
    const verified = await run(['verify'], { store: damaged })
    expect(verified.code).toBe(4)
    expect(verified.text).toContain('damaged: ')
    expect((await run(['verify', '--json'], { store: damaged })).json.isSound).toBe(false)
  })
})

describe('usage', () => {
  // Every other mistake is tried without a process of its own, in src/cli/arguments.test.ts.
  it.each([
    [['gte', 'x'], 'There is no command "gte". Did you mean "get"?'],
    [['put', 'a', 'b', '--tll', '1s'], 'put has no option --tll. Did you mean "--ttl"?'],
    [['help', 'statistics'], 'There is no command "statistics".'],
    [['put', '', 'x'], 'A key has 1 to 900 bytes'],
    [['put', 'x', 'y', '--store', 'nosuch:place'], 'is not a location'],
  ])('answers %j with what is meant', async (args, message) => {
    const { code, err, out } = await run(args)
    expect(err).toContain(message)
    expect([code, out.length]).toEqual([2, 0])
  })

  it('asks which store is meant when nobody says', async () => {
    const { code, err } = await prestige(['get', 'a'])
    expect([code, err]).toEqual([
      2,
      'prestige: No store is given: use --store LOCATION, or set PRESTIGE_STORE.\n',
    ])
  })

  it('tells errors as JSON to those who ask for JSON', async () => {
    const missing = await run(['get', 'nothing', '--json'])
    expect([missing.code, missing.text]).toEqual([3, ''])
    expect(JSON.parse(missing.err)).toEqual({
      error: { code: 'KEY_NOT_FOUND', message: 'There is no key "nothing".' },
    })
    expect(JSON.parse((await run(['gte', '--json'])).err).error.code).toBe('INVALID_USAGE')
  })

  it('never makes a store to read, delete, collect or verify', async () => {
    const nowhere = join(directory, 'nowhere')
    const calls = [
      'get a',
      'del a',
      'del --prefix a',
      'clear --yes',
      'has a',
      'keys',
      'count',
      'stats',
      'explain a',
      'collect',
    ]
    const all = [...calls, 'verify', 'export somewhere'].map((call) => call.split(' '))
    const runs = await Promise.all(all.map((args) => run([...args, '--json'], { store: nowhere })))
    for (const { code, err } of runs)
      expect([code, JSON.parse(err).error.code]).toEqual([3, 'STORE_NOT_FOUND'])
    expect(existsSync(nowhere)).toBe(false)
  })

  it('takes options before and after the command, and prefers --store to the environment', async () => {
    await run(['put', 'order', 'x'])
    expect((await run(['--store', store, 'get', 'order'], { store: 'nowhere' })).text).toBe('x')
    expect((await run(['-s', store, 'get', 'order'], { store: 'nowhere' })).text).toBe('x')
    expect((await run(['get', `--store=${store}`, 'order'], { store: 'nowhere' })).text).toBe('x')
  })

  it('closes the store and ends with 130 when it is interrupted while it waits for stdin', async () => {
    const { code } = await run(['put', 'interrupted'], {
      meanwhile: async (child) => {
        // More than a pipe holds: when all of it is taken, the process is reading.
        await new Promise((taken) => child.stdin.write(Buffer.alloc(1_000_000), taken))
        child.kill('SIGINT')
      },
    })
    expect(code).toBe(130)
    expect((await run(['has', 'interrupted'])).code).toBe(3)
  })
})

describe('help', () => {
  it('names every command, every option of all commands and the exit codes', async () => {
    const { code, text } = await prestige(['--help'])
    expect(code).toBe(0)
    for (const name of Object.keys(commands)) expect(text).toMatch(new RegExp(`^  ${name}\\b`, 'm'))
    for (const name of Object.keys({ ...globalOptions, ...storeOptions }))
      expect(text).toContain(`--${name}`)
    for (const exit of [0, 1, 2, 3, 4, 130]) expect(text).toMatch(new RegExp(`^ +${exit}  `, 'm'))
    expect(text.split('\n').every((line) => line.length <= 100)).toBe(true)
    const [same, nothing] = await Promise.all([prestige(['help', '-h']), prestige([])])
    expect(same.text).toBe(text)
    expect([nothing.code, nothing.text, nothing.err]).toEqual([2, '', text])
  })

  it('prints the version for -v and version as for --version', async () => {
    const [long, short, word] = await Promise.all(
      ['--version', '-v', 'version'].map((name) => prestige([name])),
    )
    expect(long!.text).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect([short!.text, word!.text, short!.code]).toEqual([long!.text, long!.text, 0])
  })

  it('explains every command by example', async () => {
    const names = Object.keys(commands)
    const runs = await Promise.all(names.map((name) => prestige(['help', name])))
    Object.entries(commands).forEach(([name, command], at) => {
      const { code, text } = runs[at]!
      expect(code).toBe(0)
      expect(text).toContain(`prestige ${name}`)
      for (const option of Object.keys(command.options)) expect(text).toContain(`--${option}`)
      expect(text.split('\n').every((line) => line.length <= 100)).toBe(true)
    })
    expect((await prestige(['put', 'x', '--help'])).text).toBe(runs[0]!.text)
  })

  it('prints the version', async () => {
    const { code, text } = await prestige(['--version'])
    expect([code, text]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)])
  })

  it('uses no colours where nobody sees them', async () => {
    const { text } = await run(['put', 'colour', 'x'])
    expect(text).not.toContain('\u001b')
  })
})
