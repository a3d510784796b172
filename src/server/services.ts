/** What a server has open: a store and a resolver for each namespace that was asked for. */

import { PrestigeError } from '../platform/errors.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import { createProxy, type PrestigeProxy, requireProxyOptions } from '../proxy/index.ts'
import { openResolver, type Resolver } from '../resolve/index.ts'
import { openStore, type Store } from '../store/index.ts'
import { HttpProblem } from './http/problem.ts'
import { CorpusJobs } from './jobs/corpus-jobs.ts'
import { type CheckedLimits, limitsOf, type ServerOptions } from './options.ts'

/** Apart from the keys of users: a key for some namespaces reads no answers that were kept for others. */
const PROXY_NAMESPACE = 'proxy'

interface Closable {
  close(): Promise<void>
}

/** Opened once for all who ask, and not kept if opening fails. */
class Opened<T extends Closable> {
  readonly #open: (namespace: string | undefined, create: boolean) => Promise<T>
  readonly #max: number
  readonly #byName = new Map<string, { readonly opening: Promise<T>; readonly create: boolean }>()

  constructor(open: (namespace: string | undefined, create: boolean) => Promise<T>, max: number) {
    this.#open = open
    this.#max = max
  }

  of(namespace: string | undefined, create: boolean): Promise<T> {
    const name = namespace ?? ''
    const known = this.#byName.get(name)
    if (known && (known.create || !create)) return known.opening
    if (!known && this.#byName.size >= this.#max)
      throw new HttpProblem(
        'OVERLOADED',
        `${this.#max} namespaces are open, which is the most that is allowed.`,
      )
    // One that is being opened, or was, by somebody who only reads is used, if it is there.
    const opening = known
      ? known.opening.catch(() => this.#open(namespace, true))
      : this.#open(namespace, create)
    const entry = { opening, create }
    this.#byName.set(name, entry)
    opening.catch(() => {
      if (this.#byName.get(name) === entry) this.#byName.delete(name)
    })
    return opening
  }

  async close(): Promise<void> {
    const all = await Promise.allSettled([...this.#byName.values()].map(({ opening }) => opening))
    this.#byName.clear()
    for (const one of all) if (one.status === 'fulfilled') await one.value.close()
  }
}

export class Services {
  readonly location: string
  readonly options: ServerOptions
  readonly limits: CheckedLimits
  readonly metrics: MetricsSink
  readonly clock: () => number
  /** Absent where there are no runs. */
  readonly jobs: CorpusJobs | undefined
  readonly #stores: Opened<Store>
  #proxy: Promise<PrestigeProxy> | undefined
  readonly #resolvers: Opened<Resolver>
  /** In milliseconds of `performance.now()`. */
  readonly startedAt = performance.now()
  readonly #closing = new AbortController()
  #isClosed = false

  constructor(location: string, options: ServerOptions, metrics: MetricsSink) {
    this.location = location
    this.options = options
    this.limits = limitsOf(options.limits)
    this.metrics = metrics
    this.clock = options.clock ?? Date.now
    this.jobs = jobsOf(options, this.limits, this.clock)
    if (options.proxy) requireProxyOptions(options.proxy)
    const max = this.limits.namespaces
    this.#stores = new Opened(
      (namespace, create) => openStore(location, { ...options.store, namespace, create, metrics }),
      max,
    )
    this.#resolvers = new Opened(
      (namespace, create) =>
        openResolver(location, { ...options.resolver, namespace, create, metrics }),
      max,
    )
  }

  /** To read. The namespace without a name is what the server serves, and is there from the first request on. */
  store(namespace: string | undefined): Promise<Store> {
    this.#requireOpen()
    return this.#stores.of(namespace, namespace === undefined && this.#creates)
  }

  /** To put something: a namespace that is missing is made. */
  writable(namespace: string | undefined): Promise<Store> {
    this.#requireOpen()
    return this.#stores.of(namespace, this.#creates)
  }

  resolver(namespace: string | undefined): Promise<Resolver> {
    this.#requireOpen()
    return this.#resolvers.of(namespace, this.#creates)
  }

  /** Of a server with an upstream. Opened when it is first asked for; again, if that failed. */
  proxy(): Promise<PrestigeProxy> {
    const { proxy } = this.options
    if (!proxy) throw new PrestigeError('ROUTE_NOT_FOUND', 'This server has no upstream.')
    const { metrics, clock } = this
    const opening = (this.#proxy ??= this.writable(PROXY_NAMESPACE).then((store) =>
      createProxy(store, { ...proxy, mount: '/proxy', metrics, clock }),
    ))
    opening.catch(() => (this.#proxy = undefined))
    return opening
  }

  get #creates(): boolean {
    return this.options.store?.readOnly !== true
  }

  /** Aborted when the server is about to close. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Ends what would never end by itself, such as streams of events. */
  beginClosing(): void {
    this.#closing.abort()
    this.jobs?.stop()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.jobs?.close()
    await (await this.#proxy?.catch(() => undefined))?.close()
    await this.#stores.close()
    await this.#resolvers.close()
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new PrestigeError('BACKEND_CLOSED', 'The server is shutting down.')
  }
}

function jobsOf(
  { jobs }: ServerOptions,
  { waitingRuns: waitingMax, uploadsBytes }: CheckedLimits,
  clock: () => number,
): CorpusJobs | undefined {
  return jobs === undefined ? undefined : new CorpusJobs(jobs, { waitingMax, uploadsBytes, clock })
}
