/** What the embedded engine promises to processes that share a directory, on disks that fail, and under limits. */

import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { cell, read, rows, type Scope, type Transaction } from '../src/backends/contract.ts'
import { openLmdb } from '../src/backends/lmdb/backend.ts'
import type { Durability } from '../src/backends/lmdb/options.ts'
import { openReadOnly } from '../src/backends/lmdb/file/backend.ts'
import { DirectoryLock } from '../src/backends/lmdb/locks.ts'
import { openStore } from '../src/index.ts'
import { amount } from './amount.ts'
import { type Fault, faultRound, faults } from './native/fault-rounds.ts'
import { buildShim } from './native/shim.ts'
import { openRounds } from './opens/open-rounds.ts'

let directory: string
const children: ChildProcess[] = []
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-engine-'))
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await rm(directory, { recursive: true, force: true })
})

const NEIGHBOUR = fileURLToPath(new URL('./children/engine-neighbour.mjs', import.meta.url))
const bytesCodec = { encode: (bytes: Uint8Array) => bytes, decode: (bytes: Uint8Array) => bytes }
const texts = rows('texts', bytesCodec, { ordered: true })
const at = (name: string) => cell(texts, Buffer.from(name))

function* write(scope: Scope, name: string, bytes: Uint8Array): Transaction<void> {
  scope.write(at(name), bytes)
}

function* count(scope: Scope): Transaction<number> {
  const [bytes] = yield* read(at('count'))
  const next = (bytes?.[0] ?? 0) + 1
  scope.write(at('count'), Buffer.of(next))
  return next
}

const open = (options: { durability?: Durability; timeoutMs?: number } = {}) =>
  openLmdb(directory, { spaces: [texts], ...options })

async function neighbour(what: string, durability: Durability = 'os'): Promise<ChildProcess> {
  const child = fork(NEIGHBOUR, [what, directory, durability])
  children.push(child)
  await once(child, 'message')
  return child
}

/** Stops a process at a moment at which it holds the lock. */
async function stopWhileCommitting(child: ChildProcess): Promise<void> {
  const lock = new DirectoryLock(directory)
  for (;;) {
    child.kill('SIGSTOP')
    await pause(20)
    if (!lock.tryAcquire()) {
      await lock.acquire(() => true) // gives the turn back
      return lock.close()
    }
    lock.release()
    child.kill('SIGCONT')
    await pause(5)
  }
}

describe('processes that share a directory', () => {
  it.each(['os', 'fsync'] as const)(
    'open, close, read, write and are killed, and nothing acknowledged is lost (%s)',
    async (durability) => {
      // Slow openers on a file system in memory: where the engine by itself loses the most.
      const base = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'prestige-'))
      const report = await openRounds(base, {
        seconds: amount(1.5, 20),
        atLeast: { opens: 6, puts: 101 },
        seed: 1,
        durability,
        writers: 2,
        readers: 1,
        openers: 2,
        cli: durability === 'os',
        killEveryMs: 1000,
        preload: await buildShim(),
        delayMs: 3,
      })
      await rm(base, { recursive: true })
      expect(report).toMatchObject({ lost: [], failures: [] })
    },
    120_000,
  )

  it('get CONTENDED in time from one that hangs in a commit, and their event loop goes on', async () => {
    await neighbour('hang-in-commit')
    let ticks = 0
    const timer = setInterval(() => ticks++, 5)
    await expect(open({ timeoutMs: 300 })).rejects.toMatchObject({ code: 'CONTENDED' })
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(5)
  })

  it.each(['os', 'fsync'] as const)(
    'get CONTENDED in time from one that is stopped in a commit, read on, and write when it goes on (%s)',
    async (durability) => {
      const backend = await open({ durability, timeoutMs: 300 })
      const child = await neighbour('flood', durability)
      await stopWhileCommitting(child)
      await expect(backend.run(write, 'a', Buffer.of(1))).rejects.toMatchObject({
        code: 'CONTENDED',
        retryable: true,
      })
      expect(await backend.read(() => read(at('none')))).toEqual([undefined])
      child.kill('SIGCONT')
      await backend.run(write, 'a', Buffer.of(1))
      await backend.close()
    },
  )

  it('wait in line: none starves while another writes without a pause', async () => {
    const backend = await open({ durability: 'os' })
    await neighbour('flood', 'os')
    await neighbour('flood', 'os')
    for (let n = 0; n < 20; n++) await backend.run(write, `own ${n}`, Buffer.of(n))
    await backend.close()
  })

  it('never hang at process.exit with writes pending, and leave the directory to others', async () => {
    for (let n = 0; n < amount(2, 4); n++) {
      const child = await neighbour('exit-with-writes-pending', n % 2 === 0 ? 'fsync' : 'os')
      expect(await once(child, 'exit')).toEqual([7, null])
    }
    const backend = await open({ timeoutMs: 1000 })
    await backend.run(write, 'a', Buffer.of(1))
    await backend.close()
  })

  it.each(['os', 'fsync'] as const)(
    'that die between a commit and its announcement have it seen by the next transaction (%s)',
    async (durability) => {
      const preload = { LD_PRELOAD: await buildShim() }
      const backend = await open({ durability }) // keeps LMDB's shared memory as the dead process left it
      for (const killAt of [4, 5, 6]) {
        const env = { ...process.env, ...preload, KILL_AT: String(killAt) }
        const child = fork(NEIGHBOUR, ['count', directory, durability], { env })
        expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
        const file = await openReadOnly(directory, { spaces: [texts] })
        const [committed] = await file.read(() => read(at('count')))
        await file.close()
        const counted = await backend.run(count)
        expect(counted).toBe((committed?.[0] ?? 0) + 1)
        expect(counted).toBeGreaterThan(1)
      }
      await backend.close()
    },
  )

  it('that die while they read leave the file no larger than before', async () => {
    const backend = await open({ durability: 'os' })
    const overwrite = async (times: number) => {
      for (let n = 0; n < times; n++) await backend.run(write, `k${n % 50}`, Buffer.alloc(1000, n))
    }
    await overwrite(500)
    const child = await neighbour('hang-in-read')
    child.kill('SIGKILL')
    await once(child, 'exit')
    await pause(150) // readers are looked for ten times a second
    await overwrite(200)
    const before = statSync(join(directory, 'data.mdb')).size
    await overwrite(2000)
    expect(statSync(join(directory, 'data.mdb')).size).toBeLessThanOrEqual(before)
    await backend.close()
  })
})

describe('a failing disk', () => {
  /** Which call fails: in CI an early or a late one, in turn. All of them do in `npm run long -- faults`. */
  const sampled = { os: [1, 6], fsync: [3, 20] }
  const sampledOfFew = { os: [1], fsync: [2] }
  it.each(faults.flatMap((fault) => [['os', fault] as const, ['fsync', fault] as const]))(
    'is an error with a code, and the store is sound afterwards (%s, %o)',
    async (durability: Durability, fault: Fault) => {
      const codes = new Set<string>()
      const areFew = fault.call === 'ftruncate' || fault.call === 'mmap'
      const all = (areFew ? sampledOfFew : sampled)[durability]
      const turn = (faults.indexOf(fault) + (durability === 'os' ? 0 : 1)) % all.length
      for (const n of amount(all.slice(turn, turn + 1), all)) {
        const outcome = await faultRound(directory, durability, fault, n)
        expect(outcome.acknowledged).toBe(500)
        if (fault.call === 'write') expect(outcome.calls).toBeGreaterThan(40)
        for (const code of outcome.codes) codes.add(code)
      }
      for (const code of codes) expect(['BACKEND_FULL', 'BACKEND_UNAVAILABLE']).toContain(code)
    },
    60_000,
  )

  it.each(['os', 'fsync'] as const)(
    'that is full is named, costs nothing that was stored, and goes on when there is room (%s)',
    async (durability) => {
      const disk = join(directory, 'disk')
      await mkdir(disk)
      const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk])
      if (mounted.status !== 0) {
        if (process.env['CI']) throw new Error('CI must be able to mount a tmpfs')
        return console.warn('not tested: a full disk needs the right to mount')
      }
      try {
        const store = await openStore(join(disk, 'store'), { durability })
        let kept = 0
        const fill = async () => {
          for (; ; kept++) await store.put(`key ${kept}`, randomBytes(20_000))
        }
        await expect(fill()).rejects.toMatchObject({ code: 'BACKEND_FULL' })
        expect(kept).toBeGreaterThan(20)
        for (let n = 0; n < kept; n++) expect(await store.has(`key ${n}`)).toBe(true)
        spawnSync('mount', ['-o', 'remount,size=8m', disk])
        await store.put('more', Buffer.alloc(20_000, 'more'))
        expect((await store.verify()).problems).toEqual([])
        await store.close()
      } finally {
        spawnSync('umount', ['-l', disk])
      }
    },
  )
})

describe('a directory', () => {
  it('belongs to its owner alone', async () => {
    const place = join(directory, 'store')
    await (await openStore(place)).close()
    expect(statSync(place).mode & 0o777).toBe(0o700)
    for (const name of ['data.mdb', 'lock.mdb']) {
      expect(statSync(join(place, name)).mode & 0o777).toBe(0o600)
    }
  })

  it.each(['data.mdb', 'lock.mdb', 'prestige-write.lock'])(
    'whose %s was removed while it is open acknowledges nothing more',
    async (name) => {
      const store = await openStore(directory, { durability: 'os' })
      await store.put('a', 'v')
      await rm(join(directory, name))
      await pause(30) // files are looked at every 20 ms
      await expect(store.put('b', 'v')).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
      await store.close().catch(() => {})
    },
  )

  it('opens where the address space is limited', () => {
    const script = `import { openStore } from '${new URL('../dist/index.js', import.meta.url).href}'
      const store = await openStore(process.argv[1])
      await store.put('a', 'v')
      console.log(await store.getText('a'))
      await store.close()`
    const args = ['-c', 'ulimit -v 6000000; exec "$0" "$@"', process.execPath]
    const child = spawnSync('bash', [...args, '--input-type=module', '-e', script, directory], {
      encoding: 'utf8',
    })
    expect(child).toMatchObject({ status: 0, stdout: 'v\n' })
  })
})

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
