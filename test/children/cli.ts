/** Runs the built command line as a user would: as a process of its own; or, much faster, in this process. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export const MAIN: string = fileURLToPath(new URL('../../dist/command/main.js', import.meta.url))

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

/** The same without a process: for what a command prints and returns, not for signals, pipes and terminals. */
export function inProcess(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  if (options.meanwhile || options.uid !== undefined) return prestige(args, options)
  const ended = last.then(() => runHere(args, options))
  last = ended.catch(() => undefined)
  return ended
}

/** A process has one working directory and one stdout: calls take turns. */
let last: Promise<unknown> = Promise.resolve()

async function runHere(args: readonly string[], options: RunOptions): Promise<Run> {
  const { run } = await import(new URL('../../dist/cli/run.js', import.meta.url).href)
  const [out, err] = [new Collected(), new Collected()]
  const input = Readable.from([Buffer.from(options.input ?? '')], { objectMode: false })
  const before = { cwd: process.cwd(), store: process.env['PRESTIGE_STORE'], argv: process.argv }
  const streams = [replaced('stdout', out), replaced('stderr', err), replaced('stdin', input)]
  process.argv = [process.execPath, MAIN, ...args]
  setStore(options.store)
  if (options.cwd !== undefined) process.chdir(options.cwd)
  try {
    const code = await run(args)
    const bytes = out.bytes()
    const parsed = () => JSON.parse(bytes.toString())
    return {
      code,
      out: bytes,
      text: bytes.toString(),
      err: err.bytes().toString(),
      get json() {
        return parsed()
      },
    }
  } finally {
    for (const restore of streams) restore()
    process.argv = before.argv
    setStore(before.store)
    process.chdir(before.cwd)
  }
}

class Collected extends Writable {
  readonly #parts: Buffer[] = []

  override _write(part: Buffer, _encoding: string, done: () => void): void {
    this.#parts.push(Buffer.from(part))
    done()
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

function replaced(name: 'stdin' | 'stdout' | 'stderr', stream: Readable | Writable): () => void {
  const before = Object.getOwnPropertyDescriptor(process, name)!
  Object.defineProperty(process, name, { value: stream, configurable: true })
  return () => Object.defineProperty(process, name, before)
}

function setStore(store: string | undefined): void {
  if (store === undefined) delete process.env['PRESTIGE_STORE']
  else process.env['PRESTIGE_STORE'] = store
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
