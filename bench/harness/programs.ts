/** Timing a whole program: its CPU time and wall time from start to exit, as the shell's `time` sees them. */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import type { Sample } from './bench.ts'

const exec = promisify(execFile)

export const cliPath: string = fileURLToPath(new URL('../../dist/command/main.js', import.meta.url))

/** Why the command line cannot be measured, if it cannot. */
export function cliMissing(): string | undefined {
  return existsSync(cliPath) ? undefined : 'dist/command/main.js is not there. Build the CLI first.'
}

export async function timeNode(args: readonly string[]): Promise<Sample> {
  const started = process.hrtime.bigint()
  // The program's own stderr goes to descriptor 3 and is shown; what is left on 2 is the times alone.
  const script = 'TIMEFORMAT="%3U %3S"; exec 3>&2; { time "$0" "$@" >/dev/null 2>&3; } 2>&1'
  const { stdout } = await exec('bash', ['-c', script, process.execPath, ...args], {
    env: { ...process.env, LC_ALL: 'C', NODE_OPTIONS: '' },
    maxBuffer: 2 ** 26,
  })
  const wallMs = Number(process.hrtime.bigint() - started) / 1e6
  const times = stdout.trim().split(/\s+/).map(Number)
  const seconds = times.reduce((sum, time) => sum + time, 0)
  if (times.length !== 2 || Number.isNaN(seconds)) throw new Error(`No times in ${stdout}.`)
  return { ops: 1, cpuMicros: seconds * 1e6, wallMs }
}
