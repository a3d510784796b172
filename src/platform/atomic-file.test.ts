import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, readFile, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import {
  AtomicFile,
  makeDirectory,
  removeAbandonedBeside,
  targetOf,
  temporaryName,
  writeNamed,
  writeWhole,
} from './atomic-file.ts'

let directory: string
const at = (name: string) => join(directory, name)
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-atomic-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

describe('a file that is written atomically', () => {
  it('is the old one until it is closed, and then the new one', async () => {
    writeFileSync(at('file'), 'old')
    const file = await AtomicFile.open(at('file'))
    await file.write('new ')
    await file.write(Buffer.alloc(3_000_000, 'x'))
    await file.write('end')
    expect(readFileSync(at('file'), 'utf8')).toBe('old')
    await file.close()
    expect(readFileSync(at('file'), 'utf8')).toBe(`new ${'x'.repeat(3_000_000)}end`)
    expect(readdirSync(directory)).toEqual(['file'])
  })

  it('leaves nothing where its pieces fail', async () => {
    const pieces = function* () {
      yield 'begun'
      throw new Error('no more')
    }
    await expect(writeNamed(at('file'), pieces())).rejects.toThrow('no more')
    expect(readdirSync(directory)).toEqual([])
  })

  it('may be written by several at once: the last one wins', async () => {
    const texts = Array.from({ length: 8 }, (_, n) => String(n).repeat(1000))
    await Promise.all(texts.map((text) => writeWhole(at('deep/file'), [text])))
    expect(texts).toContain(readFileSync(at('deep/file'), 'utf8'))
    expect(readdirSync(at('deep'))).toEqual(['file'])
  })

  it('replaces a symbolic link, and not the file it leads to', async () => {
    writeFileSync(at('target'), 'mine')
    symlinkSync(at('target'), at('link'))
    await writeNamed(at('link'), ['new'])
    expect(readFileSync(at('target'), 'utf8')).toBe('mine')
    expect(lstatSync(at('link')).isFile()).toBe(true)
  })

  it('that is a pipe is written to, and not replaced', async () => {
    execFileSync('mkfifo', [at('pipe')])
    const [heard] = await Promise.all([
      readFile(at('pipe'), 'utf8'),
      writeNamed(at('pipe'), ['a', 'b']),
    ])
    expect(heard).toBe('ab')
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true)
    expect(readdirSync(directory)).toEqual(['pipe'])
  })

  it('that cannot be there is refused at once', { timeout: 5000 }, async () => {
    const refused = { code: 'OUTPUT_FAILED', message: expect.stringContaining('/proc/') }
    await expect(writeNamed('/proc/prestige', ['x'])).rejects.toMatchObject(refused)
    await expect(writeWhole('/proc/prestige/x/y', ['x'])).rejects.toMatchObject(refused)
    await expect(makeDirectory('/proc/prestige/x')).rejects.toMatchObject(refused)
    await expect(writeNamed(at('none/file'), ['x'])).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
      message: expect.stringContaining(`there is no directory ${at('none')}`),
    })
  })
})

describe('what was left beside a file', () => {
  const dead = () => spawnSync(process.execPath, ['-e', '']).pid

  it('goes if its process is no more, and stays while that runs', async () => {
    const [own, gone] = [process.pid, dead()].map((pid) => {
      const name = temporaryName(at('file'))
      const hex = (number: number) => number.toString(16).padStart(6, '0')
      return name.replace(hex(process.pid), hex(pid))
    })
    const others = [at('other.tmp-0123456789abcdef'), at('file.tmp-notes')]
    for (const name of [own!, gone!, ...others]) writeFileSync(name, '')
    await removeAbandonedBeside(at('file'))
    expect([own!, gone!, ...others].map((name) => existsSync(name))).toEqual([
      true,
      false,
      true,
      true,
    ])
  })

  it('goes after a day if its process was of another machine', async () => {
    const name = at('file.tmp-zzzz').replace('zzzz', 'ffff000001abcdef')
    writeFileSync(name, '')
    await removeAbandonedBeside(at('file'))
    expect(existsSync(name)).toBe(true)
    await utimes(name, 0, 0)
    await removeAbandonedBeside(at('file'))
    expect(existsSync(name)).toBe(false)
    expect(targetOf(basename(name))).toBe('file')
  })
})
