/**
 * Real Redis servers for tests: on free ports of the loopback, in directories of their own, ended by their id.
 *
 * Where `redis-server` is not installed, tests say loudly what they did not test; in CI that is a failure.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Redis } from 'ioredis'

function find(name: string): string | undefined {
  try {
    const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' })
    return path.trim()
  } catch {
    return undefined
  }
}

/** Another server than the installed one, a Valkey say, can be named. */
const binary = find(process.env['REDIS_SERVER'] ?? 'redis-server') ?? find('valkey-server')

/** Whether tests that need a server can run. In CI they run in any case, and fail. */
export function redisIsHere(): boolean {
  if (binary !== undefined || process.env['CI'] === 'true') return true
  console.warn('NOT TESTED: Redis. Install redis-server (apt-get install redis-server).')
  return false
}

export interface RedisServer {
  readonly port: number
  /** `redis://127.0.0.1:port/0` */
  readonly url: string
  readonly pid: number
  readonly directory: string
  /** `kill -9`. */
  kill(): Promise<void>
  /** In the same directory, on the same port. */
  restart(more?: RedisSettings): Promise<void>
  stop(): Promise<void>
}

/** With their directories: a test that failed half way has not stopped its server. */
const running = new Map<ChildProcess, string>()
process.once('exit', () => {
  for (const [child, directory] of running) {
    child.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  }
})

async function portsFree(count: number): Promise<number[]> {
  const servers: Server[] = []
  for (let at = 0; at < count; at++) {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    servers.push(server)
  }
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(
    servers.map(async (server) => {
      server.close()
      await once(server, 'close')
    }),
  )
  return ports
}

export interface RedisSettings {
  /** Further arguments: `['--appendonly', 'yes']`. */
  readonly args?: readonly string[]
  /** Does not wait until commands are answered, only until there is a process. */
  readonly noWait?: boolean
}

export async function startRedis({ args = [], noWait }: RedisSettings = {}): Promise<RedisServer> {
  if (binary === undefined) throw new Error('redis-server is not installed.')
  const [port] = await portsFree(1)
  return start(binary, port!, args, noWait ?? false)
}

async function start(
  path: string,
  port: number,
  args: readonly string[],
  noWait: boolean,
): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-redis-'))
  const base = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', '']
  let child: ChildProcess
  const launch = async (more: RedisSettings = {}) => {
    child = spawn(path, [...base, ...args, ...(more.args ?? [])], { stdio: 'ignore' })
    const launched = child
    running.set(launched, directory)
    launched.once('exit', () => running.delete(launched))
    if (!noWait && !more.noWait) await untilAnswers(port, child, args)
  }
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  await launch()
  return {
    port,
    url: `redis://127.0.0.1:${port}/0`,
    directory,
    get pid() {
      return child.pid!
    },
    kill: () => end('SIGKILL'),
    restart: launch,
    async stop() {
      await end('SIGKILL')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** A client for tests, which says what went wrong at once. */
export function redisClient(port: number, password?: string): Redis {
  return new Redis({
    port,
    host: '127.0.0.1',
    ...(password !== undefined && { password }),
    retryStrategy: (times) => (times > 200 ? null : 25),
    maxRetriesPerRequest: 200,
  })
}

async function untilAnswers(port: number, child: ChildProcess, args: readonly string[]) {
  const at = args.indexOf('--requirepass')
  const client = redisClient(port, at < 0 ? undefined : args[at + 1])
  client.on('error', () => undefined)
  try {
    const died = once(child, 'exit').then(() => {
      throw new Error(`redis-server ended at once with ${args.join(' ')}`)
    })
    died.catch(() => undefined)
    await Promise.race([client.ping(), died])
  } finally {
    client.disconnect()
  }
}

export interface RedisCluster {
  readonly nodes: readonly RedisServer[]
  /** `redis+cluster://127.0.0.1:port,…/` */
  readonly url: string
  stop(): Promise<void>
}

const SLOTS = 16_384

/** Three masters, without replicas. */
export async function startRedisCluster(): Promise<RedisCluster> {
  if (binary === undefined) throw new Error('redis-server is not installed.')
  // The bus is at the port plus 10,000 unless told, which need not be free.
  const ports = await portsFree(6)
  const nodes = await Promise.all(
    [0, 1, 2].map((at) =>
      start(
        binary,
        ports[at]!,
        ['--cluster-enabled', 'yes', '--cluster-port', String(ports[at + 3])],
        false,
      ),
    ),
  )
  const clients = nodes.map(({ port }) => redisClient(port))
  try {
    for (const [at, client] of clients.entries()) {
      const from = Math.floor((SLOTS * at) / 3)
      const to = Math.floor((SLOTS * (at + 1)) / 3) - 1
      await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to)
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', at + 1)
    }
    for (const other of [1, 2]) {
      await clients[0]!.call('CLUSTER', 'MEET', '127.0.0.1', ports[other]!, ports[other + 3]!)
    }
    for (const client of clients) await untilWhole(client)
  } finally {
    for (const client of clients) client.disconnect()
  }
  return {
    nodes,
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/`,
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
  }
}

async function untilWhole(client: Redis): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const info = String(await client.call('CLUSTER', 'INFO'))
    if (info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3')) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('The cluster of the tests does not come together.')
}
