/** A whole program, timed by the shell, and its memory watched while it runs. Linux only: it reads /proc. */

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

export interface Watched {
  readonly stdout: string
  /** User and system time of all threads, from start to exit. */
  readonly cpuSeconds: number
  readonly wallSeconds: number
  /** The most that was seen of memory that is no file's: heaps, stacks, buffers, WebAssembly. */
  readonly anonymousBytesMax: number
}

const EVERY_MS = 50

export async function watchNode(args: readonly string[]): Promise<Watched> {
  const started = performance.now()
  const script = 'TIMEFORMAT="times %3U %3S"; exec 3>&2; { time "$0" "$@" 2>&3; } 2>&1'
  const child = spawn('bash', ['-c', script, process.execPath, ...args], {
    env: { ...process.env, LC_ALL: 'C', NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  let anonymousBytesMax = 0
  const timer = setInterval(() => {
    anonymousBytesMax = Math.max(anonymousBytesMax, anonymousBelow(child.pid ?? 0))
  }, EVERY_MS)
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  clearInterval(timer)
  const wallSeconds = (performance.now() - started) / 1000
  const [, user, system] = /times ([\d.]+) ([\d.]+)\s*$/.exec(stdout) ?? []
  if (code !== 0 || user === undefined) throw new Error(`${args.join(' ')} ended with ${code}.`)
  const cpuSeconds = Number(user) + Number(system)
  return { stdout: stdout.replace(/times .*\s*$/, ''), cpuSeconds, wallSeconds, anonymousBytesMax }
}

/** Of the process and of those it has started. */
function anonymousBelow(process: number): number {
  try {
    const status = readFileSync(`/proc/${process}/status`, 'utf8')
    const own = Number(/RssAnon:\s*(\d+)/.exec(status)?.[1] ?? 0) * 1024
    const children = readFileSync(`/proc/${process}/task/${process}/children`, 'utf8').trim()
    const below = children === '' ? [] : children.split(/\s+/).map(Number)
    return below.reduce((sum, child) => sum + anonymousBelow(child), own)
  } catch {
    return 0
  }
}
