/** Several processes resolve the same texts in one directory, and some of them die. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { afterAll, describe, expect, it } from 'vitest'

import { openLmdb } from '../src/backends/lmdb/backend.ts'
import { openResolver } from '../src/index.ts'
import { resolverSpaces } from '../src/resolve/index.ts'
import { amount } from './amount.ts'
import { Audit } from './resolver/audit.ts'
import { rowsInBackend } from './resolver/tables.ts'
import { clusteredTexts, RECALL_ONE, textsOf } from './resolver/texts.ts'
import { removeTemporaryDirectories, temporaryDirectory } from './subjects.ts'

const childOf = (name: string) => fileURLToPath(new URL(`./children/${name}.mjs`, import.meta.url))
const WRITER = childOf('resolver-writer')
const FULL_DISK = childOf('resolver-full-disk')
const SIMILARITY = 0.6
const OPTIONS = {
  ...RECALL_ONE,
  threshold: SIMILARITY,
  guards: false,
  durability: 'os',
  cacheMax: 0,
  candidatesMax: 1000,
} as const

afterAll(removeTemporaryDirectories)

interface Shared {
  readonly directory: string
  readonly file: string
  readonly texts: readonly string[]
}

/** Long and short ones, in many scripts, so that all profiles are there. */
async function shared(seed: number): Promise<Shared> {
  const directory = await temporaryDirectory()
  const texts = [...clusteredTexts(seed, 450), ...clusteredTexts(seed + 1, 200, 40)]
  const file = join(directory, 'texts.json')
  await writeFile(file, JSON.stringify(texts))
  await (await openResolver(join(directory, 'store'), OPTIONS)).close()
  return { directory: join(directory, 'store'), file, texts }
}

function writer({ directory, file }: Shared, seed: number, lanes: number) {
  return spawn(process.execPath, [WRITER, directory, file, String(seed), String(lanes)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** All rows are as they must be, and, by brute force, no two representatives are near duplicates. */
async function audited({ directory, texts }: Shared): Promise<Audit> {
  const backend = await openLmdb(directory, { spaces: resolverSpaces, durability: 'os' })
  const rowsOf = await rowsInBackend(backend)
  const { durability: _ofTheBackend, ...options } = OPTIONS
  const resolver = await openResolver(backend, options)
  const audit = new Audit(rowsOf, { settings: resolver.settings, groups: ['g'], inputs: texts })
  await resolver.close()
  return audit
}

/** Everything is resolved again: nothing is new, and answers are those that are there. */
async function settled({ directory, texts }: Shared): Promise<Record<string, number>> {
  await using resolver = await openResolver(directory, OPTIONS)
  const statuses: Record<string, number> = {}
  for (const text of textsOf(5).shuffled(texts)) {
    const { status } = await resolver.resolve('g', text)
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  return statuses
}

describe('processes that resolve the same texts in one directory', () => {
  it('decide as one, whatever the order', async () => {
    const all = await shared(11)
    const exits = [1, 2, 3].map((seed) => once(writer(all, seed, 16), 'exit'))
    for (const [code] of await Promise.all(exits)) expect(code).toBe(0)
    const audit = await audited(all)
    expect(audit.problems).toEqual([])
    expect(audit.live.length).toBeGreaterThan(50)
    expect(audit.live.length).toBeLessThan(all.texts.length / 2)
    await settled(all)
    const again = await settled(all)
    expect(again['new'] ?? 0).toBe(0)
    expect(again['match'] ?? 0).toBe(0)
    expect((await audited(all)).problems).toEqual([])
  })

  it('lose nothing and repeat nothing when they are killed at random moments', async () => {
    const all = await shared(21)
    const { below } = textsOf(99)
    for (let round = 0; round < amount(3, 6); round++) {
      const children = [0, 1].map((at) => writer(all, round * 10 + at, 1 + 15 * at))
      await Promise.all(children.map((child) => once(child.stdout, 'data')))
      await sleep(below(250))
      await Promise.all(children.map(killed))
      expect((await audited(all)).problems).toEqual([])
    }
    expect((await collected(all)).problems).toEqual([])
    await settled(all)
    expect((await settled(all))['new'] ?? 0).toBe(0)
    expect((await audited(all)).problems).toEqual([])
  })
})

/** It may have ended by itself. */
async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

async function collected(all: Shared): Promise<Audit> {
  const resolver = await openResolver(all.directory, OPTIONS)
  await resolver.collect()
  await resolver.close()
  return audited(all)
}

describe('a full disk', () => {
  it('leaves tables that know nothing of what was rolled back', async () => {
    const directory = await temporaryDirectory()
    const script = 'trap "" XFSZ; ulimit -f 6000; exec "$0" "$@"'
    const args = ['-c', script, process.execPath, FULL_DISK, join(directory, 's'), 'fsync']
    const { status, stdout } = spawnSync('bash', args, { encoding: 'utf8' })
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      codes: expect.arrayContaining(['BACKEND_FULL']),
      isPartial: true,
      isExact: true,
      lost: 0,
      phantoms: 0,
      twice: 0,
    })
  })
})
