/**
 * The long forms of tests that CI runs for seconds: `npm run long -- NAME [--seconds 60] [--seed N]`. Seeds are fresh
 * unless given, and printed.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { damageRounds, makeStore } from '../test/damage/damage-rounds.ts'
import { faultRound, faults } from '../test/native/fault-rounds.ts'
import { buildShim } from '../test/native/shim.ts'
import { openRounds } from '../test/opens/open-rounds.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const seconds = Number(values.seconds)
const seed = Number(values.seed)

async function inDirectory<T>(base: string, work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(base, 'prestige-long-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Six settings, `seconds` each: disk and tmpfs, both durabilities, and openers whose mmap is slow. */
async function opens(): Promise<void> {
  const shim = await buildShim()
  const common = { seconds, seed, writers: 3, readers: 3, openers: 3, cli: true, killEveryMs: 500 }
  let hasFailed = false
  for (const base of [tmpdir(), '/dev/shm']) {
    for (const durability of ['os', 'fsync'] as const) {
      for (const delayed of [false, true]) {
        const slow = delayed ? { preload: shim, delayMs: 3 } : {}
        const report = await inDirectory(base, (directory) =>
          openRounds(directory, { ...common, durability, ...slow }),
        )
        const { lost, failures, ...counts } = report
        const place = base === '/dev/shm' ? 'tmpfs' : 'disk'
        console.log(
          JSON.stringify({ place, durability, delayed, ...counts, lost: lost.length, failures }),
        )
        hasFailed ||= lost.length > 0 || failures.length > 0
      }
    }
  }
  if (hasFailed) process.exitCode = 1
}

/** Every single system call of 500 puts fails once, in every way. */
async function failingDisk(): Promise<void> {
  for (const durability of ['os', 'fsync'] as const) {
    for (const fault of faults) {
      const codes = new Map<string, number>()
      const count = await inDirectory(tmpdir(), async (directory) => {
        let at = 0
        for (let calls = 1; at < calls;) {
          const outcome = await faultRound(directory, durability, fault, ++at)
          calls = outcome.calls
          for (const code of outcome.codes) codes.set(code, (codes.get(code) ?? 0) + 1)
        }
        return at
      })
      console.log(JSON.stringify({ durability, ...fault, count, ...Object.fromEntries(codes) }))
    }
  }
}

/** A thousand bytes flipped, two hundred pages overwritten, fifty files cut. */
async function damage(): Promise<void> {
  await inDirectory(tmpdir(), async (directory) => {
    const original = join(directory, 'original')
    await makeStore(original)
    for (const [kind, rounds] of [
      ['flip', 1000],
      ['page', 200],
      ['cut', 50],
    ] as const) {
      const report = await damageRounds(original, directory, { damage: kind, rounds, seed })
      console.log(JSON.stringify({ damage: kind, ...report }))
      if (report.faults.length > 0) process.exitCode = 1
    }
  })
}

const tasks: Record<string, () => Promise<void>> = { opens, faults: failingDisk, damage }
const task = tasks[positionals[0] ?? '']
if (!task) {
  console.error(`Name one of: ${Object.keys(tasks).join(', ')}`)
  process.exit(2)
}
console.log(`seed ${seed}`)
await task()
