/** SIGTERM and SIGINT end a command that waits for input which never comes. */

import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, beforeEach, expect, it } from 'vitest'

import { prestige, type Run } from './children/cli.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-signals-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

/** A process that is ended by the signal itself had not begun to handle it: it gets more time. */
async function stopped(args: string[], signal: 'SIGTERM' | 'SIGINT'): Promise<Run> {
  let run: Run | undefined
  for (const startMs of [500, 2000, 8000]) {
    run = await prestige(args, {
      cwd: directory,
      store: join(directory, 'store'),
      meanwhile: async (child) => {
        await sleep(startMs)
        child.kill(signal)
      },
    })
    if (run.code !== null) return run
  }
  throw new Error(`${signal} was never handled: ${run?.err}`)
}

const waiting: [string, string[]][] = [
  ['dedupe with a silent stdin', ['dedupe', '-', '-o', 'out']],
  ['resolve with a silent stdin', ['resolve', '-']],
  ['resolve with a pipe that nobody writes to', ['resolve', 'pipe']],
  ['put of a pipe that nobody writes to', ['put', 'key', '--file', 'pipe']],
  ['import of an archive in a pipe that nobody writes to', ['import', '--archive', 'pipe']],
  ['import of an archive from a silent stdin', ['import', '--archive', '-']],
]

it.each(waiting)('%s ends on SIGTERM', { timeout: 30_000 }, async (_, args) => {
  execFileSync('mkfifo', [join(directory, 'pipe')])
  const run = await stopped(args, 'SIGTERM')
  expect([run.code, run.err]).toEqual([143, expect.not.stringContaining('unexpected')])
  expect(readdirSync(directory).filter((name) => name.includes('.tmp-'))).toEqual([])
})

it(
  'SIGINT ends a dedupe that waits for stdin, and leaves nothing',
  { timeout: 30_000 },
  async () => {
    const run = await stopped(['dedupe', '-', '-o', 'out'], 'SIGINT')
    expect(run.code).toBe(130)
    expect(run.err).toContain('Nothing was written')
  },
)
