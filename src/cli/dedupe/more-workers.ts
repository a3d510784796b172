/**
 * More processes of this very command, which share its run. The environment marks them as such; they print nothing,
 * and end with it. One that dies costs nothing but its time: the others take over what it had begun.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

const NAME = 'PRESTIGE_WORKER_OF'
const KEPT_CHARACTERS = 2000

/** Whether this process was started by another one to work along. */
export function isHelper(): boolean {
  return process.env[NAME] !== undefined
}

export class MoreWorkers {
  readonly #children: { readonly process: ChildProcess; said: string }[] = []
  readonly #signal: AbortSignal

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#stop(), { once: true })
  }

  start(count: number): void {
    const [, script = '', ...args] = process.argv
    for (let number = 0; number < count; number++) {
      const started = spawn(process.execPath, [...process.execArgv, script, ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, [NAME]: String(process.pid) },
      })
      const child = { process: started, said: '' }
      started.stderr?.on('data', (part: Buffer) => {
        child.said = (child.said + part.toString()).slice(-KEPT_CHARACTERS)
      })
      started.on('error', (error) => (child.said += `${error.message}\n`))
      this.#children.push(child)
    }
  }

  /** Waits for all of them; returns what those said that failed. */
  async end(): Promise<string[]> {
    const failures: string[] = []
    for (const child of this.#children.splice(0)) {
      const { exitCode, signalCode, pid } = child.process
      const isOver = exitCode !== null || signalCode !== null || pid === undefined
      if (!isOver) await once(child.process, 'close')
      if (child.process.exitCode === 0 || this.#signal.aborted) continue
      const last = child.said.trim().split('\n').at(-1) || 'it was killed'
      failures.push(`A worker failed, and the others did its work: ${last}`)
    }
    return failures
  }

  #stop(): void {
    for (const { process: child } of this.#children) child.kill('SIGTERM')
  }
}
