/** Folders in and out of a store by the command line: byte for byte, whatever files are called. */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { inProcess as prestige, MAIN, type RunOptions } from './children/cli.ts'

const isLinux = process.platform === 'linux'
const isRoot = process.getuid?.() === 0
const NOBODY = 65_534

function nobodyCanRun(): boolean {
  return spawnSync(process.execPath, [MAIN, '--version'], { uid: NOBODY }).status === 0
}

let directory: string
beforeAll(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'prestige-folders-')))
})
afterAll(() => rmSync(directory, { recursive: true }))

const at = (...names: string[]) => join(directory, ...names)
const run = (store: string, args: readonly string[], options: RunOptions = {}) =>
  prestige(args, { store: at(store), ...options })

/** Every file below a folder: its name, one character a byte, with the length and digest of its bytes. */
function filesOf(root: string): Map<string, { bytes: number; digest: string }> {
  const files = new Map<string, { bytes: number; digest: string }>()
  const visit = (path: Buffer, name: Buffer) => {
    for (const entry of readdirSync(path, { withFileTypes: true, encoding: 'buffer' })) {
      const inner = Buffer.concat([path, Buffer.from('/'), entry.name])
      const innerName = Buffer.concat([name, Buffer.from('/'), entry.name])
      if (entry.isDirectory()) visit(inner, innerName)
      else if (entry.isFile())
        files.set(innerName.toString('latin1'), summaryOf(readFileSync(inner)))
    }
  }
  visit(Buffer.from(root), Buffer.alloc(0))
  return files
}

function summaryOf(value: Buffer): { bytes: number; digest: string } {
  return { bytes: value.length, digest: createHash('sha256').update(value).digest('hex') }
}

const LARGE = Buffer.alloc(5_000_000, 'five megabytes ')
const ODD_NAMES = [
  'with space.txt',
  '-dash',
  '--help',
  '.hidden',
  '\u00e9 composed',
  'e\u0301 decomposed',
  'नमस्ते.txt',
  '你好.txt',
  'مرحبا.txt',
  '👩‍👩‍👧‍👦.txt',
  'back\\slash',
  'new\nline',
  'quote\'"',
]

function makeTree(root: string): void {
  mkdirSync(join(root, 'deep/er/and/deeper'), { recursive: true })
  mkdirSync(join(root, 'empty directory'))
  ODD_NAMES.forEach((name, number) => writeFileSync(join(root, 'deep', name), `odd ${number}`))
  writeFileSync(join(root, 'deep/er/and/deeper/all bytes'), Buffer.from([...Array(256).keys()]))
  writeFileSync(join(root, 'empty'), '')
  writeFileSync(join(root, 'large'), LARGE)
  for (const number of [1, 2, 3]) writeFileSync(join(root, `copy ${number}`), 'copied content')
  if (!isLinux) return
  const invalid = Buffer.from('latin1 caf\xe9 \xff', 'latin1')
  writeFileSync(Buffer.concat([Buffer.from(`${root}/`), invalid]), 'invalid name')
}

describe('import and export', () => {
  beforeAll(() => makeTree(at('tree')))

  it('give the same folder back, byte for byte, and say what was duplicated', async () => {
    const files = filesOf(at('tree'))
    const imported = await run('same', ['import', at('tree'), '--json'])
    expect([imported.code, imported.err]).toEqual([0, ''])
    expect(imported.json).toMatchObject({
      files: files.size,
      bytes: [...files.values()].reduce((sum, { bytes }) => sum + bytes, 0),
      new: files.size - 2,
      duplicates: 2,
      linked: 0,
      unchanged: 0,
      // Of the long file, chunks are shared as well.
      bytesSaved: expect.any(Number),
      failed: 0,
      problems: [],
      repeated: [{ firstKey: 'copy 1', times: 3, bytes: 14, bytesSaved: 28 }],
      isStopped: false,
    })
    const exported = await run('same', ['export', at('same out'), '--json'])
    expect(exported.code).toBe(0)
    expect(exported.json).toMatchObject({ files: files.size, failed: 0 })
    expect(filesOf(at('same out'))).toEqual(files)
    expect(readdirSync(at('same out')).filter((name) => name.startsWith('.prestige'))).toEqual([])
    expect((await run('same', ['verify'])).code).toBe(0)
  })

  it('close with a table, and know what is unchanged', async () => {
    const { code, text } = await run('same', ['import', at('tree')])
    expect(code).toBe(0)
    expect(text).toMatch(/^imported \d+ files in [\d.]+ s, [\d.]+ \w+\/s\n/)
    expect(text).toMatch(/\n {2}new +0 +0 B\n {2}duplicates +0 +0 B\n {2}linked +0 +0 B\n/)
    expect(text).toMatch(/\n {2}saved +all of it +4\.8 MiB\n/)
    expect((await run('same', ['import', at('tree'), '--quiet'])).text).toBe('')
  })

  it('put a prefix before the keys, and take it off again', async () => {
    mkdirSync(at('small/sub'), { recursive: true })
    writeFileSync(at('small/sub/file'), 'x')
    await run('prefix', ['put', 'other', 'y'])
    await run('prefix', ['import', at('small'), '--prefix', 'my/'])
    expect((await run('prefix', ['keys'])).text).toBe('my/sub/file\nother\n')
    await run('prefix', ['export', at('prefix out'), '--prefix', 'my/'])
    expect(filesOf(at('prefix out'))).toEqual(filesOf(at('small')))
  })

  it('tell progress to those who ask, on stderr, and the result on stdout', async () => {
    const imported = await run('same', ['import', at('tree'), '--progress'])
    expect(imported.code).toBe(0)
    expect(imported.text).toMatch(/^imported \d+ files/)
    expect(imported.err).toMatch(
      /^#{24} 100 % {2}\d+ files {2}4\.8 MiB {2}.*\/s {2}0\.0 s left\n$/m,
    )
    expect((await run('same', ['verify', '--progress'])).err).toMatch(/\d rows? {2}.*\/s/)
    writeFileSync(at('one file'), Buffer.alloc(3 * 1024 * 1024, 'a line\n'))
    const put = await run('same', ['put', 'one', '--file', at('one file'), '--progress'])
    expect([put.code, put.err]).toEqual([
      0,
      expect.stringMatching(/^1 value {2}3\.0 MiB {2}.*\/s\n$/),
    ])
    const got = await run('same', ['get', 'one', '--progress'])
    expect(got.out.byteLength).toBe(3 * 1024 * 1024)
    expect(got.err).toMatch(/^#{24} 100 % {2}1 value {2}3\.0 MiB/)
    expect((await run('same', ['get', 'one'])).err).toBe('')
  })
})

describe('import', () => {
  it('follows no links, and tells what it passed over', async () => {
    mkdirSync(at('special/sub'), { recursive: true })
    writeFileSync(at('special/file'), 'x')
    symlinkSync('file', at('special/link'))
    symlinkSync('..', at('special/sub/loop'))
    const server = createServer().listen(at('special/socket'))
    await new Promise((resolve) => server.once('listening', resolve))
    const told = await run('special store', ['import', at('special')])
    server.close()
    expect(told.code).toBe(0)
    expect(told.err).toContain('skipped: link: symbolic link\n')
    expect(told.err).toContain('skipped: sub/loop: symbolic link\n')
    expect(told.err).toContain('skipped: socket: socket\n')
    expect(told.text).toMatch(/skipped: symbolic link +2\n/)
    expect((await run('special store', ['keys'])).text).toBe('file\n')
    symlinkSync(at('special'), at('linked root'))
    expect((await run('linked store', ['import', at('linked root')])).text).toContain('1 file ')
  })

  it('leaves out the store itself', async () => {
    mkdirSync(at('outer'))
    writeFileSync(at('outer/file'), 'x')
    const { code, json } = await run('outer/store', ['import', at('outer'), '--json'])
    expect(code).toBe(0)
    expect(json).toMatchObject({ files: 1, skipped: { 'the store itself': 1 } })
    const itself = await run('outer/store', ['import', at('outer/store')])
    expect([itself.code, itself.err]).toEqual([
      2,
      'prestige: A store cannot be imported into itself.\n',
    ])
  })

  it('imports the rest when a file cannot be read or its name is too long for a key', async () => {
    mkdirSync(at('partly/locked'), { recursive: true })
    const long = ['partly', ...Array<string>(4).fill('x'.repeat(250))]
    mkdirSync(at(...long), { recursive: true })
    writeFileSync(at(...long, 'file'), 'key too long')
    writeFileSync(at('partly/good'), 'x')
    writeFileSync(at('partly/unreadable'), 'y')
    chmodSync(at('partly/unreadable'), 0)
    chmodSync(at('partly/locked'), 0)
    chmodSync(directory, 0o755)
    mkdirSync(at('partly store'))
    chmodSync(at('partly store'), 0o777)
    // Root can read everything, so it steps down; nobody may be unable to reach this checkout, though.
    const uid = isRoot && nobodyCanRun() ? NOBODY : undefined
    const seesAll = isRoot && uid === undefined
    if (seesAll)
      console.warn('NOT TESTED: unreadable files, because nobody cannot run this checkout')
    const { code, json } = await run('partly store', ['import', at('partly'), '--json'], { uid })
    expect(code).toBe(1)
    expect(json).toMatchObject(seesAll ? { files: 2, failed: 1 } : { files: 1, failed: 3 })
    const locked = [
      { path: 'locked', reason: 'permission denied' },
      { path: 'unreadable', reason: 'permission denied' },
    ]
    expect(json.problems).toEqual([
      ...(seesAll ? [] : locked),
      {
        path: long.slice(1).concat('file').join('/'),
        reason: expect.stringContaining('900 bytes'),
      },
    ])
    const told = await run('partly store', ['import', at('partly')], { uid })
    expect(told.code).toBe(1)
    if (!seesAll) expect(told.err).toContain('not imported: unreadable: permission denied\n')
    expect(told.text).toMatch(seesAll ? /failed +1\n/ : /failed +3\n/)
  })

  it('tells which values the canonical profile cannot read', async () => {
    mkdirSync(at('mixed'))
    writeFileSync(at('mixed/a.json'), '{"a":1}')
    writeFileSync(at('mixed/b.json'), '{ "a": 1 }')
    writeFileSync(at('mixed/c.txt'), 'no json')
    const canonical = ['--canonical', 'json', '--json']
    const strict = await run('mixed store', ['import', at('mixed'), ...canonical])
    expect(strict.code).toBe(1)
    expect(strict.json).toMatchObject({ new: 1, linked: 1, failed: 1 })
    const bytes = ['--on-unreadable', 'bytes']
    const lax = await run('mixed store', ['import', at('mixed'), ...canonical, ...bytes])
    expect([lax.code, lax.json.new, lax.json.unchanged]).toEqual([0, 1, 2])
  })

  it('says what is wrong with the directory', async () => {
    expect((await run('none', ['import', at('no such place')])).code).toBe(3)
    writeFileSync(at('a file'), 'x')
    const file = await run('none', ['import', at('a file')])
    expect([file.code, file.err]).toEqual([2, expect.stringContaining('is not a directory')])
    expect(existsSync(at('none'))).toBe(false)
  })

  it('leaves a sound store that holds what it told when it is interrupted', async () => {
    const files = 20_000
    mkdirSync(at('many'))
    writeFileSync(at('many/0'), 'the same everywhere')
    for (let number = 1; number < files; number++) linkSync(at('many/0'), at('many', `${number}`))
    const stopped = await run('stopped', ['import', at('many'), '--json'], {
      meanwhile: async (child) => {
        while (!existsSync(at('stopped/data.mdb'))) await sleep(5)
        await sleep(150)
        child.kill('SIGINT')
      },
    })
    expect(stopped.code).toBe(130)
    expect(stopped.json.isStopped).toBe(true)
    expect(stopped.json.files).toBeLessThan(files)
    const [count, verified] = await Promise.all([
      run('stopped', ['count', '--json']),
      run('stopped', ['verify']),
    ])
    expect(count.json.keys).toBe(stopped.json.files)
    expect(verified.code).toBe(0)
  })
})

describe('export', () => {
  it('writes nothing at all when a key is no safe path', async () => {
    for (const key of ['safe', '../escape', '/absolute', 'a//b', 'dir', 'dir/file'])
      await run('unsafe', ['put', key, 'x'])
    await run('unsafe', ['put', '-e', 'nul\\x00', 'x'])
    const { code, err } = await run('unsafe', ['export', at('unsafe out')])
    expect(code).toBe(2)
    expect(err).toContain('5 keys cannot be a file here')
    expect(err).toContain('"../escape": it has a segment ".."')
    expect(err).toContain('"/absolute": it is an absolute path')
    expect(err).toContain('"a//b": it has an empty segment')
    expect(err).toContain('"dir/file": "dir" is a key too')
    expect(err).toContain('"nul\\x00": it holds a NUL')
    expect(existsSync(at('unsafe out'))).toBe(false)
    expect(existsSync(at('escape'))).toBe(false)
    const some = await run('unsafe', ['export', at('unsafe out'), '--prefix', 'dir/'])
    expect(some.code).toBe(0)
    expect([...filesOf(at('unsafe out')).keys()]).toEqual(['/file'])
  })

  it('writes into a directory that is not empty only when it is told to', async () => {
    await run('target', ['put', 'sub/file', 'from the store'])
    mkdirSync(at('target out/sub'), { recursive: true })
    writeFileSync(at('target out/sub/file'), 'old')
    writeFileSync(at('target out/mine'), 'mine')
    const refused = await run('target', ['export', at('target out'), '--json'])
    expect([refused.code, JSON.parse(refused.err).error.code]).toEqual([2, 'TARGET_NOT_EMPTY'])
    expect(readFileSync(at('target out/sub/file'), 'utf8')).toBe('old')
    expect((await run('target', ['export', at('target out'), '--overwrite'])).code).toBe(0)
    expect(readFileSync(at('target out/sub/file'), 'utf8')).toBe('from the store')
    expect(readFileSync(at('target out/mine'), 'utf8')).toBe('mine')
    expect((await run('target', ['export', at('target out/mine')])).code).toBe(1)
  })

  it('never writes through a link that leads elsewhere', async () => {
    await run('links', ['put', 'sub/file', 'from the store'])
    await run('links', ['put', 'good', 'from the store'])
    mkdirSync(at('elsewhere'))
    writeFileSync(at('elsewhere/file'), 'mine')
    mkdirSync(at('links out'))
    symlinkSync(at('elsewhere'), at('links out/sub'))
    symlinkSync(at('elsewhere/file'), at('links out/good'))
    const { code, err } = await run('links', ['export', at('links out'), '--overwrite'])
    expect(code).toBe(1)
    expect(err).toContain('not exported: sub/file: sub is in the way')
    expect(readFileSync(at('elsewhere/file'), 'utf8')).toBe('mine')
    expect(lstatSync(at('links out/good')).isFile()).toBe(true)
  })

  it('does not write over the store it reads', async () => {
    await run('self', ['put', 'data.mdb', 'x'])
    const { code, err } = await run('self', ['export', at('self'), '--overwrite'])
    expect([code, err]).toEqual([2, expect.stringContaining('The store is in')])
    expect((await run('self', ['get', 'data.mdb'])).text).toBe('x')
  })
})
