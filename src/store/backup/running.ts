/**
 * Who is at work in a place for backups: `running/backup-ID` while one is made, `running/forget-ID` while packs that no
 * backup needs are removed. A mark is renewed every minute; one that was not for ten is of a process that has died.
 *
 * Invariant: no pack is removed while a backup is made, which may be relying on it. Each side leaves its mark before it
 * looks for the other's: who forgets then leaves the packs alone, and who makes a backup waits.
 */

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import type { BackupTarget } from './target.ts'

const RENEW_MS = 60_000
const LOOK_AGAIN_MS = 200

export type Work = 'backup' | 'forget'

/** A mark in the place, until it is disposed of. */
export class Running {
  readonly #target: BackupTarget
  readonly #name: string
  readonly #timer: NodeJS.Timeout
  #renewing: Promise<void> = Promise.resolve()

  private constructor(target: BackupTarget, name: string) {
    this.#target = target
    this.#name = name
    this.#timer = setInterval(() => {
      // One that cannot be renewed now is renewed next time: ten minutes are many.
      this.#renewing = target.writeMark(name).catch(() => {})
    }, RENEW_MS)
    this.#timer.unref()
  }

  static async begin(target: BackupTarget, work: Work): Promise<Running> {
    const name = `${work}-${randomBytes(8).toString('hex')}`
    await target.writeMark(name)
    return new Running(target, name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#renewing
    await this.#target.removeMark(this.#name)
  }
}

/** Whether anybody does this now, as far as marks say. */
export function isUnderWay(target: BackupTarget, work: Work): Promise<boolean> {
  return target.isMarkedBy(`${work}-`)
}

export async function waitForForgetting(target: BackupTarget, signal?: AbortSignal): Promise<void> {
  while (await isUnderWay(target, 'forget')) await sleep(LOOK_AGAIN_MS, undefined, { signal })
}
