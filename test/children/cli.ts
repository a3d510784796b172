/** Runs the built command line as a user would: as a process of its own. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const MAIN: string = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export interface Run {
  readonly code: number | null
  readonly out: Buffer
  /** stdout as text. */
  readonly text: string
  readonly err: string
  // oxlint-disable-next-line no-explicit-any -- tests look at whatever was printed
  readonly json: any
}

export interface RunOptions {
  readonly store?: string | undefined
  readonly input?: string | Uint8Array
  readonly uid?: number | undefined
  readonly cwd?: string | undefined
  /** What to do while the process runs. Its stdin stays open then, unless there is input. */
  readonly meanwhile?: (child: ChildProcessWithoutNullStreams) => Promise<void>
}

export async function prestige(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const { PRESTIGE_STORE: _, ...env } = process.env
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...env, ...(options.store !== undefined && { PRESTIGE_STORE: options.store }) },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
  })
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', (part: Buffer) => out.push(part))
  child.stderr.on('data', (part: Buffer) => err.push(part))
  if (options.input !== undefined || !options.meanwhile) child.stdin.end(options.input ?? '')
  const closed = once(child, 'close')
  await options.meanwhile?.(child)
  const [code] = await closed
  const all = Buffer.concat(out)
  return {
    code,
    out: all,
    text: all.toString(),
    err: Buffer.concat(err).toString(),
    get json() {
      return JSON.parse(all.toString())
    },
  }
}

/** Runs a line of shell, `$P` being the command line; for pipes. */
export async function shell(line: string, store: string): Promise<Run> {
  const P = `${process.execPath} ${MAIN}`
  const child = spawn('bash', ['-o', 'pipefail', '-c', line], {
    env: { ...process.env, PRESTIGE_STORE: store, P },
  })
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', (part: Buffer) => out.push(part))
  child.stderr.on('data', (part: Buffer) => err.push(part))
  child.stdin.end()
  const [code] = await once(child, 'close')
  const all = Buffer.concat(out)
  return {
    code,
    out: all,
    text: all.toString(),
    err: Buffer.concat(err).toString(),
    json: undefined,
  }
}
