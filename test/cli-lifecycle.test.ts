/** prune, evict, pin and unpin on the command line. */

import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { inProcess as prestige } from './children/cli.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-cli-lifecycle-'))
})
afterAll(() => rm(directory, { recursive: true }))

function storeAt(name: string) {
  const store = join(directory, name)
  return (...args: string[]) => prestige(args, { store })
}

/** One after another, so that their times differ. */
async function putAll(at: ReturnType<typeof storeAt>, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    await at('put', key, key === 'a' || key === 'b' ? 'shared' : `value of ${key}`, '-q')
    await sleep(2)
  }
}

describe('put with a condition', () => {
  it('writes only if the key is not there, or has the value that is named', async () => {
    const at = storeAt('conditions')
    const digest = createHash('sha256').update('first').digest('hex')
    expect((await at('put', 'a', 'first', '--if-absent')).code).toBe(0)
    const again = await at('put', 'a', 'second', '--if-absent')
    expect(again.code).not.toBe(0)
    expect(again.err).toContain(digest)
    expect((await at('put', 'a', 'second', '--if-match', '0'.repeat(64))).code).toBe(again.code)
    expect((await at('get', 'a')).text).toBe('first')
    expect((await at('put', 'a', 'second', '--if-match', digest)).code).toBe(0)
    expect((await at('get', 'a')).text).toBe('second')
    expect((await at('put', 'a', 'third', '--if-match', 'abc')).code).toBe(2)
  })
})

describe('evict', () => {
  it('lists what would go and what that frees, then does it', async () => {
    const at = storeAt('evict')
    await putAll(at, 'a', 'b', 'c', 'd')
    const dry = await at('evict', '--to-keys', '2', '--dry-run')
    expect(dry.text).toBe('a\t0 B\nb\t6 B\nwould have evicted 2 keys and 1 content (6 B)\n')
    const wrong = await at('evict', '--to-bytes', '10MB')
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('with KiB, MiB')])
    const lines = (await at('evict', '--to-bytes', '10', '-n', '--json')).text.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { key: 'a', freedBytes: 0 },
      { key: 'b', freedBytes: 6 },
      { key: 'c', freedBytes: 10 },
      { keys: 3, contents: 2, bytes: 16, dryRun: true },
    ])
    expect((await at('keys')).text).toBe('a\nb\nc\nd\n')
    expect((await at('evict', '--to-keys', '2')).text).toBe('evicted 2 keys and 1 content (6 B)\n')
    expect((await at('keys')).text).toBe('c\nd\n')
    expect((await at('evict')).err).toContain('evict needs --to-bytes 2GiB')
    expect((await at('verify')).code).toBe(0)
  })

  it('spares pinned keys', async () => {
    const at = storeAt('pins')
    await putAll(at, 'a', 'c', 'd')
    expect((await at('pin', 'a', '--dry-run')).text).toBe('would have pinned "a"\n')
    expect((await at('unpin', 'a')).text).toBe('"a" was not pinned\n')
    const pinned = await at('pin', 'a', 'missing')
    expect([pinned.code, pinned.text]).toEqual([3, 'pinned "a"\n"missing" was not there\n'])
    await at('evict', '--to-keys', '1', '-q')
    expect((await at('keys')).text).toBe('a\n')
    expect((await at('unpin', 'a', '--json')).json).toEqual({
      unpinned: ['a'],
      missing: [],
      dryRun: false,
    })
    await at('evict', '--to-bytes', '0KiB', '-q')
    expect((await at('keys')).text).toBe('')
  })

  it('happens with put as well', async () => {
    const at = storeAt('bounded')
    await putAll(at, 'a', 'b', 'c')
    await at('put', 'd', 'value of d', '--max-keys', '3')
    expect((await at('keys')).text).toBe('b\nc\nd\n')
    await at('put', 'e', 'x'.repeat(2000), '--max-bytes', '1KiB')
    expect((await at('keys')).text).toBe('e\n')
  })
})

describe('prune', () => {
  it('takes keys that are old enough', async () => {
    const at = storeAt('prune')
    await putAll(at, 'a', 'b', 'c')
    expect((await at('prune', '--older-than', '1h')).text).toBe(
      'pruned 0 keys and 0 contents (0 B)\n',
    )
    const dry = await at('prune', '--older-than', '1ms', '--prefix', 'a', '--dry-run')
    expect(dry.text).toBe('a\t0 B\nwould have pruned 1 key and 0 contents (0 B)\n')
    const idle = await at('prune', '--idle-for', '1h')
    expect([idle.code, idle.err]).toEqual([
      2,
      expect.stringContaining('records when keys are used'),
    ])
    await at('put', 'd', 'x', '--max-keys', '100')
    await sleep(5)
    expect((await at('prune', '--idle-for', '1ms', '--json')).json).toEqual({
      keys: 4,
      contents: 3,
      bytes: 17,
      dryRun: false,
    })
    expect((await at('prune')).err).toContain('prune needs --older-than 90d or --idle-for 7d')
  })
})

it('a sliding time to live needs a time to live', async () => {
  const at = storeAt('sliding')
  expect((await at('put', 'a', 'b', '--sliding')).code).toBe(2)
  expect((await at('put', 'a', 'b', '--sliding', '--ttl', '1h')).text).toContain('expires')
})
