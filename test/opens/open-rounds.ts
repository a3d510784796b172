/**
 * Many processes on one directory: some write, some read, some open and close as fast as they can, and any of them may
 * be killed at any moment. What was acknowledged must be there in the end, and nobody may fail to open.
 *
 * Keys are never written twice: a write that was lost cannot be covered by a later one.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { openStore, type Store } from '../../src/index.ts'
import type { Durability } from '../../src/backends/lmdb/options.ts'
import { seededRandom } from '../../src/backends/simulated/backend.ts'

const WORKER = fileURLToPath(new URL('../children/open-worker.mjs', import.meta.url))
const CLI = fileURLToPath(new URL('../../dist/command/main.js', import.meta.url))

export interface OpenRoundsOptions {
  readonly seconds: number
  /** Goes on until there were so many of each, on a machine that is busy with other things. */
  readonly atLeast?: { readonly opens: number; readonly puts: number }
  readonly seed: number
  readonly durability: Durability
  readonly writers: number
  readonly readers: number
  readonly openers: number
  /** Runs `prestige count` in a loop as well. */
  readonly cli: boolean
  /** Kills a process this often. */
  readonly killEveryMs: number
  /** A library loaded into the processes that open (test/native/shim.c), and how long their mmap takes with it. */
  readonly preload?: string
  readonly delayMs?: number
}

export interface OpenRoundsReport {
  opens: number
  puts: number
  reads: number
  kills: number
  readonly lost: string[]
  readonly failures: string[]
}

type Role = 'writer' | 'reader' | 'opener'

interface Acknowledged {
  readonly name: string
  readonly from: number
  readonly to: number
}

export async function openRounds(
  directory: string,
  options: OpenRoundsOptions,
): Promise<OpenRoundsReport> {
  const rounds = new Rounds(directory, options)
  return rounds.run()
}

class Rounds {
  readonly #directory: string
  readonly #options: OpenRoundsOptions
  readonly #report: OpenRoundsReport = {
    opens: 0,
    puts: 0,
    reads: 0,
    kills: 0,
    lost: [],
    failures: [],
  }
  readonly #acknowledged: Acknowledged[] = []
  readonly #children = new Map<ChildProcess, Role>()
  readonly #killed = new Set<ChildProcess>()
  #isOver = false
  #started = 0

  constructor(directory: string, options: OpenRoundsOptions) {
    this.#directory = directory
    this.#options = options
  }

  async run(): Promise<OpenRoundsReport> {
    const { writers, readers, openers, cli, seconds, atLeast } = this.#options
    const { opens, puts } = atLeast ?? { opens: 0, puts: 0 }
    const first = await openStore(this.#directory, { durability: this.#options.durability })
    await first.close()
    const running: Promise<void>[] = []
    const start = (role: Role, count: number) => {
      for (let n = 0; n < count; n++) running.push(this.#keepRunning(role))
    }
    start('writer', writers)
    start('reader', readers)
    start('opener', openers)
    if (cli) running.push(this.#countInLoop())
    const killing = this.#killNowAndThen()
    await pause(seconds * 1000)
    const isEnough = () => this.#report.opens >= opens && this.#report.puts >= puts
    while (!isEnough() && this.#report.failures.length === 0) await pause(100)
    this.#isOver = true
    for (const child of this.#children.keys()) child.stdin?.end()
    await Promise.all([...running, killing])
    await this.#check()
    return this.#report
  }

  async #keepRunning(role: Role): Promise<void> {
    while (!this.#isOver && this.#report.failures.length < 20) await this.#runOnce(role)
  }

  async #runOnce(role: Role): Promise<void> {
    const { durability, preload, delayMs = 0 } = this.#options
    const name = `${role}${this.#started++}`
    const slow =
      preload && role === 'opener' ? { LD_PRELOAD: preload, DELAY_MS: String(delayMs) } : {}
    const env = { ...process.env, ...slow }
    const child = spawn(process.execPath, [WORKER, role, this.#directory, durability, name], {
      env,
    })
    this.#children.set(child, role)
    let stderr = ''
    child.stderr.on('data', (text) => (stderr += String(text)))
    const exit = once(child, 'close')
    for await (const line of createInterface({ input: child.stdout })) this.#note(name, line)
    const [code, signal] = await exit
    this.#children.delete(child)
    if (code === 0 || this.#killed.has(child)) return
    this.#report.failures.push(`${name} ended with ${code ?? signal}: ${stderr.slice(-400)}`)
  }

  #note(name: string, line: string): void {
    const [what, first, last] = line.split(' ')
    if (what === 'open') this.#report.opens++
    if (what === 'read') this.#report.reads++
    if (what !== 'put') return
    const acknowledged = { name, from: Number(first), to: Number(last) }
    this.#acknowledged.push(acknowledged)
    this.#report.puts += acknowledged.to - acknowledged.from + 1
  }

  async #countInLoop(): Promise<void> {
    while (!this.#isOver) {
      const child = spawn(process.execPath, [CLI, 'count', '--store', this.#directory])
      const [code, signal] = await once(child, 'close')
      this.#report.opens++
      if (code !== 0) this.#report.failures.push(`prestige count ended with ${code ?? signal}`)
    }
  }

  async #killNowAndThen(): Promise<void> {
    const random = seededRandom(this.#options.seed)
    while (!this.#isOver) {
      await pause(this.#options.killEveryMs * (0.5 + random()))
      const children = [...this.#children.keys()]
      const victim = children[Math.floor(random() * children.length)]
      if (this.#isOver || !victim) continue
      this.#killed.add(victim)
      victim.kill('SIGKILL')
      this.#report.kills++
    }
  }

  async #check(): Promise<void> {
    const store = await openStore(this.#directory)
    for (const { name, from, to } of this.#acknowledged) {
      for (let number = from; number <= to; number++)
        await this.#checkKey(store, `${name}-${number}`)
    }
    const { problems } = await store.verify()
    for (const problem of problems) this.#report.failures.push(JSON.stringify(problem))
    await store.close()
  }

  async #checkKey(store: Store, key: string): Promise<void> {
    if ((await store.getText(key)) !== `value of ${key}`) this.#report.lost.push(key)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
