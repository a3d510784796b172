/**
 * A DynamoDB to test against: the binary of `@dynoxide/linux-x64`, in memory, on a free port of this machine. It is
 * ended by the process that started it, by its id.
 *
 * With PRESTIGE_DYNAMODB_LOCAL set to the directory of DynamoDBLocal.jar, that one is started instead, as a second
 * opinion (it needs Java).
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'

/** Emulators take any; the client wants some. */
process.env['AWS_ACCESS_KEY_ID'] ??= 'test'
process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test'

export interface DynamoServer {
  readonly port: number
  readonly pid: number
  /** A location of this server, below a table prefix of its own. */
  location(prefix?: string): string
  stop(): Promise<void>
}

function binary(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve('@dynoxide/linux-x64/package.json')
    const path = join(dirname(manifest), 'dynoxide')
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

let told = false

/** Whether there is one to start. Where there is none, it says what is not tested; in CI that is a failure. */
export function dynamoIsHere(): boolean {
  if (binary() !== undefined || process.env['PRESTIGE_DYNAMODB_LOCAL']) return true
  const what = 'There is no @dynoxide/linux-x64 for this machine: DynamoDB'
  if (process.env['CI'] === 'true') throw new Error(`${what} cannot be tested.`)
  if (!told) process.stderr.write(`\nNOT TESTED: ${what} is not tested.\n\n`)
  told = true
  return false
}

export async function startDynamo(): Promise<DynamoServer> {
  const port = await freePort()
  const child = startOn(port)
  await untilListening(port, child)
  let prefixes = 0
  return {
    port,
    pid: child.pid!,
    location: (prefix = `test${prefixes++}`) =>
      `dynamodb://us-east-1/${prefix}?endpoint=http://127.0.0.1:${port}`,
    stop: () => stop(child),
  }
}

function startOn(port: number): ChildProcess {
  const local = process.env['PRESTIGE_DYNAMODB_LOCAL']
  if (local === undefined) {
    const args = ['--host', '127.0.0.1', '--port', String(port)]
    return spawn(binary()!, args, { stdio: 'ignore' })
  }
  const args = ['-Djava.library.path=./DynamoDBLocal_lib', '-jar', 'DynamoDBLocal.jar']
  const own = ['-inMemory', '-disableTelemetry', '-port', String(port)]
  return spawn('java', [...args, ...own], { cwd: local, stdio: 'ignore' })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}

async function untilListening(port: number, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (child.exitCode !== null) throw new Error(`The server has ended with ${child.exitCode}.`)
    try {
      await fetch(`http://127.0.0.1:${port}/`)
      return
    } catch {
      await new Promise((resolve) => {
        setTimeout(resolve, 50)
      })
    }
  }
  child.kill('SIGKILL')
  throw new Error('The server does not listen.')
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}
