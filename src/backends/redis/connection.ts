/**
 * The line to a Redis or a cluster. It is made again by itself when it breaks; what was on its way then is
 * refused as `BACKEND_UNAVAILABLE`, and whoever sent it decides whether to send it again. Nothing is sent twice
 * behind the sender's back: the client's own repeating is off.
 *
 * The client (`ioredis` ^6) is loaded here, and nowhere else.
 */

import type { Cluster, Redis } from 'ioredis'

import { PrestigeError } from '../../platform/errors.ts'
import { denied, engineError, isReply, plain, reason, replyCode } from './failures.ts'
import type { RedisLocation } from './location.ts'
import { pause } from './patience.ts'
import type { Script } from './scripts.ts'

type Client = Redis | Cluster
type Argument = Buffer | string | number

const load = () => import('ioredis')
type Library = Awaited<ReturnType<typeof load>>

const RECONNECT_MS = 20
const RECONNECT_MS_MAX = 1000

export class Connection {
  readonly #library: Library
  readonly #client: Client
  readonly #location: RedisLocation
  #lastError: Error | undefined
  /** Shared by all who wait for the line. */
  #waiting: Promise<boolean> | undefined

  private constructor(library: Library, location: RedisLocation) {
    this.#library = library
    this.#location = location
    this.#client = clientOf(library, location)
    this.#client.on('error', (error: Error) => {
      this.#lastError = plain(error)
    })
    this.#client.on('node error', (error: Error) => {
      this.#lastError = plain(error)
    })
    this.#client.on('ready', () => {
      this.#lastError = undefined
    })
  }

  static async open(location: RedisLocation): Promise<Connection> {
    const connection = new Connection(await loadClient(), location)
    try {
      await connection.#connect()
      return connection
    } catch (error) {
      connection.#client.disconnect()
      throw error
    }
  }

  get isReady(): boolean {
    return this.#client.status === 'ready'
  }

  /** The masters of a cluster, or the one server there is. */
  get masters(): readonly Redis[] {
    const client = this.#client
    return 'nodes' in client ? client.nodes('master') : [client]
  }

  /** Asks servers one by one, in our words if it fails. */
  async ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question()
    } catch (error) {
      throw this.#failed(error)
    }
  }

  async send(name: string, args: readonly Argument[]): Promise<unknown> {
    await this.#untilReady()
    const command = new this.#library.Command(name, [...args], { replyEncoding: null })
    try {
      return await this.#client.sendCommand(command)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  async run({ sha, source }: Script, keys: readonly Buffer[], args: readonly Argument[]) {
    const rest = [keys.length, ...keys, ...args]
    try {
      return await this.#evaluate('evalsha', [sha, ...rest])
    } catch (error) {
      // A server that was restarted has forgotten it; with its source it is learned and run.
      if (replyCode(error) !== 'NOSCRIPT') throw this.#failed(error)
    }
    try {
      return await this.#evaluate('eval', [source, ...rest])
    } catch (error) {
      throw this.#failed(error)
    }
  }

  /** Runs a script, and answers when so many replicas have what it wrote. Gives how many do. */
  async runAndWait(
    { sha, source }: Script,
    keys: readonly Buffer[],
    args: readonly Argument[],
    replicas: number,
  ): Promise<{ reply: unknown; confirmed: number }> {
    const rest = [keys.length, ...keys, ...args]
    await this.#untilReady()
    try {
      const first = await this.#pipeline(sha, rest, replicas)
      if (first !== undefined) return first
      // Teaches it to the server that has these keys. That it runs twice does no harm: see commits.ts.
      await this.#evaluate('eval', [source, ...rest])
      const second = await this.#pipeline(sha, rest, replicas)
      if (second !== undefined) return second
    } catch (error) {
      throw this.#failed(error)
    }
    throw new PrestigeError('BACKEND_UNAVAILABLE', `${this.#location.shown} forgets its scripts.`)
  }

  /** After everything that was sent has been answered. */
  async close(): Promise<void> {
    if (this.#client.status !== 'ready') {
      this.#client.disconnect()
      return
    }
    // Whatever goes wrong while one says goodbye, the line is gone afterwards.
    await this.#client.quit().catch(() => this.#client.disconnect())
  }

  async #evaluate(name: 'evalsha' | 'eval', args: readonly Argument[]): Promise<unknown> {
    await this.#untilReady()
    const command = new this.#library.Command(name, [...args], { replyEncoding: null })
    return this.#client.sendCommand(command)
  }

  /** `undefined`: the server does not know the script. */
  async #pipeline(sha: string, rest: readonly Argument[], replicas: number) {
    const { timeoutMs } = this.#location
    const pipeline = this.#client.pipeline()
    pipeline.callBuffer('evalsha', sha, ...rest)
    pipeline.wait(replicas, Math.floor(timeoutMs / 2))
    const [ran, waited] = (await pipeline.exec()) ?? []
    if (replyCode(ran?.[0]) === 'NOSCRIPT') return undefined
    if (ran?.[0]) throw ran[0]
    if (waited?.[0]) throw waited[0]
    return { reply: ran?.[1], confirmed: Number(waited?.[1]) }
  }

  /** When the line broke, the reason is what the line said, not that the client gave up. */
  #failed(error: unknown): PrestigeError {
    const { shown } = this.#location
    if (isReply(error) || error instanceof PrestigeError) return engineError(error, shown)
    const isGivenUp = error instanceof Error && error.name === 'MaxRetriesPerRequestError'
    const broken = isGivenUp ? new Error('the line broke') : error
    return engineError(this.#lastError ?? broken, shown)
  }

  /** A request waits for a line as long as for an answer, and is refused then. */
  async #untilReady(): Promise<void> {
    const client = this.#client
    if (client.status === 'ready') return
    this.#waiting ??= isReady(client, this.#location.timeoutMs).finally(() => {
      this.#waiting = undefined
    })
    if (!(await this.#waiting)) throw await this.#unreachable()
  }

  async #connect(): Promise<void> {
    const client = this.#client
    const { timeoutMs } = this.#location
    const refused = new Promise<never>((_, reject) => {
      const look = (error: Error) => {
        const failure = this.#hopeless(error)
        if (failure) reject(failure)
      }
      client.on('error', look)
      client.on('node error', look)
    })
    client.connect().catch(() => undefined)
    if (!(await Promise.race([isReady(client, timeoutMs), refused])))
      throw await this.#unreachable()
  }

  /** Waiting does not help against these. */
  #hopeless(error: Error): PrestigeError | undefined {
    const { shown, isCluster } = this.#location
    const cause = this.#lastError ?? plain(error)
    const code = 'code' in cause ? cause.code : undefined
    if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
      return unreachable(shown, cause)
    }
    const login = /^(WRONGPASS|NOAUTH|NOPERM|ERR invalid password)/.test(cause.message)
    if (login) return denied(shown, cause)
    if (isCluster && /cluster support disabled/i.test(cause.message)) {
      return new PrestigeError(
        'SERVER_UNFIT',
        `${shown} is no cluster. Open it as redis://, or start the server with cluster-enabled yes.`,
        { cause },
      )
    }
    return undefined
  }

  async #unreachable(): Promise<PrestigeError> {
    const { shown, timeoutMs } = this.#location
    if (await this.#isLoading()) {
      return new PrestigeError(
        'BACKEND_UNAVAILABLE',
        `${shown} is still loading its data after ${timeoutMs} ms. Try again later, or wait longer with ?timeoutMs=.`,
      )
    }
    return unreachable(shown, this.#lastError ?? new Error(`no line in ${timeoutMs} ms`))
  }

  async #isLoading(): Promise<boolean> {
    const client = this.#client
    if (client.status !== 'connect' || 'nodes' in client) return false
    const info = await Promise.race([client.info('persistence'), pause(500)]).catch(() => '')
    return typeof info === 'string' && /^loading:1/m.test(info)
  }
}

function unreachable(shown: string, cause: Error): PrestigeError {
  return new PrestigeError(
    'BACKEND_UNAVAILABLE',
    `${shown} cannot be reached: ${reason(cause)}. Is the server running, and is that its address?`,
    { cause },
  )
}

async function loadClient(): Promise<Library> {
  try {
    return await load()
  } catch (error) {
    throw new PrestigeError(
      'PACKAGE_MISSING',
      'Redis needs the package ioredis, which is not installed. Run: npm install ioredis',
      { cause: error },
    )
  }
}

function clientOf(library: Library, location: RedisLocation): Client {
  const { nodes, isCluster, username, password, db, tls, timeoutMs } = location
  const ceiling = Math.min(RECONNECT_MS_MAX, timeoutMs / 8)
  const retryStrategy = (times: number) =>
    Math.random() * Math.min(ceiling, RECONNECT_MS * 2 ** times)
  const common = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: {} }),
    connectTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // All that is under way is refused as soon as the line breaks.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // The server behind the address has become a replica: ask the address again.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  if (!isCluster) {
    const [{ host, port }] = nodes
    return new library.Redis({ ...common, host, port, db, retryStrategy, lazyConnect: true })
  }
  return new library.Cluster([...nodes], {
    redisOptions: common,
    lazyConnect: true,
    clusterRetryStrategy: retryStrategy,
    // Would send again what may have been applied. Redirections are of what was not.
    retryDelayOnFailover: 0,
    slotsRefreshTimeout: timeoutMs,
    // Certificates are of names, not of the addresses they lead to.
    ...(tls && { dnsLookup: (name, found) => found(null, name) }),
  })
}

function isReady(client: Client, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (ready: boolean) => {
      clearTimeout(timer)
      client.off('ready', onReady)
      client.off('end', onEnd)
      resolve(ready)
    }
    const onReady = () => end(true)
    const onEnd = () => end(false)
    const timer = setTimeout(() => end(client.status === 'ready'), timeoutMs)
    client.once('ready', onReady)
    client.once('end', onEnd)
  })
}
