/** SIGTERM and SIGINT end a command that waits for input which never comes. */

import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, beforeEach, expect, it } from 'vitest'

import { prestige } from './children/cli.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-signals-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

/** Until the process handles SIGTERM, it would be ended by it in any case. */
async function untilHandled(pid: number | undefined): Promise<void> {
  for (;;) {
    const [, caught = '0'] =
      /^SigCgt:\s*(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    if ((BigInt(`0x${caught}`) >> 14n) & 1n) return
    await sleep(20)
  }
}

const WAITING_MS = 500

function stopped(args: string[], signal: 'SIGTERM' | 'SIGINT') {
  return prestige(args, {
    cwd: directory,
    store: join(directory, 'store'),
    meanwhile: async (child) => {
      await untilHandled(child.pid)
      await sleep(WAITING_MS)
      child.kill(signal)
    },
  })
}

const waiting: [string, string[]][] = [
  ['dedupe with a silent stdin', ['dedupe', '-', '-o', 'out']],
  ['resolve with a silent stdin', ['resolve', '-']],
  ['resolve with a pipe that nobody writes to', ['resolve', 'pipe']],
  ['put of a pipe that nobody writes to', ['put', 'key', '--file', 'pipe']],
  ['import of an archive in a pipe that nobody writes to', ['import', '--archive', 'pipe']],
  ['import of an archive from a silent stdin', ['import', '--archive', '-']],
]

it.each(waiting)('%s', async (_, args) => {
  execFileSync('mkfifo', [join(directory, 'pipe')])
  const run = await stopped(args, 'SIGTERM')
  expect([run.code, run.err]).toEqual([143, expect.not.stringContaining('unexpected')])
  expect(readdirSync(directory).filter((name) => name.includes('.part'))).toEqual([])
})

it('SIGINT ends a dedupe that waits for stdin, and leaves nothing', async () => {
  const run = await stopped(['dedupe', '-', '-o', 'out'], 'SIGINT')
  expect(run.code).toBe(130)
  expect(run.err).toContain('Nothing was written')
})
