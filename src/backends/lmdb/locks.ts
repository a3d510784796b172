/**
 * Locks between the processes and threads that share a directory. The operating system releases them when a process
 * dies, and they work across containers that share a volume.
 *
 * Why LMDB's own locks are not enough: opening an environment stores the number of the last transaction in shared
 * memory without LMDB's writer lock, so an open beside a commit makes that number go backwards and acknowledged writes
 * disappear; and waiting for LMDB's writer lock blocks the thread, without a limit. So whoever commits, or opens, holds
 * the write lock here, and waits for it with a timer. docs/embedded-engine.md has the whole reasoning.
 *
 * The turn file makes it fair: whoever waits for the write lock holds the turn, and whoever has just released the
 * write lock cannot take it again before the one that waits.
 */

import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

import { PrestigeError } from '../../platform/errors.ts'
import type { CommitPause } from './file/pause.ts'

interface FileLocks {
  tryLock(file: number, options?: { shared: boolean }): boolean
  tryLock(file: number, offset: number, length: number, options?: { shared: boolean }): boolean
  unlock(file: number): void
}

// The package has no types. A lock goes with its file descriptor: closing that releases it.
const files: FileLocks = createRequire(import.meta.url)('fs-native-extensions')

const WRITE_FILE = 'prestige-write.lock'
const TURN_FILE = 'prestige-turn.lock'
const FIRST_WAIT_MS = 1
const LONGEST_WAIT_MS = 8

/** What keeps others out: `write` lets nobody else in, `read` lets in others that read. */
export type LockMode = 'write' | 'read'

export class DirectoryLock {
  readonly #directory: string
  readonly #write: number
  readonly #turn: number
  #hasTurn = false
  #isHeld = false

  constructor(directory: string) {
    this.#directory = directory
    this.#write = openLockFile(join(directory, WRITE_FILE))
    try {
      this.#turn = openLockFile(join(directory, TURN_FILE))
    } catch (error) {
      closeSync(this.#write)
      throw error
    }
  }

  /** Takes the lock if that is possible at once. */
  tryAcquire(mode: LockMode = 'write'): boolean {
    // The system would grant it again: to it, both are the same open file.
    if (this.#isHeld) return false
    if (!this.#hasTurn && !files.tryLock(this.#turn)) return false
    this.#hasTurn = true
    if (!files.tryLock(this.#write, { shared: mode === 'read' })) return false
    this.#giveTurn()
    this.#isHeld = true
    return true
  }

  /** Waits for the lock without blocking the thread. False: it was given up. */
  async acquire(giveUp: () => boolean, mode: LockMode = 'write'): Promise<boolean> {
    let wait = FIRST_WAIT_MS
    while (!this.tryAcquire(mode)) {
      if (giveUp()) {
        if (this.#hasTurn) this.#giveTurn()
        return false
      }
      // Whoever has the turn is next, and looks often; the others need not.
      wait = this.#hasTurn ? FIRST_WAIT_MS : Math.min(wait * 2, LONGEST_WAIT_MS)
      await new Promise((resolve) => {
        setTimeout(resolve, wait)
      })
    }
    return true
  }

  /** Runs work that nobody else's commit or open may overlap. Raises CONTENDED after `timeoutMs`. */
  async hold<T>(work: () => T, timeoutMs: number, mode: LockMode = 'write'): Promise<T> {
    const end = performance.now() + timeoutMs
    if (!(await this.acquire(() => performance.now() >= end, mode))) {
      throw contended(this.#directory, timeoutMs)
    }
    try {
      return work()
    } finally {
      this.release()
    }
  }

  release(): void {
    this.#isHeld = false
    files.unlock(this.#write)
  }

  /** Others could not see a lock on a file that was removed. */
  get isRemoved(): boolean {
    return fstatSync(this.#write).nlink === 0 || fstatSync(this.#turn).nlink === 0
  }

  close(): void {
    closeSync(this.#write)
    closeSync(this.#turn)
  }

  #giveTurn(): void {
    files.unlock(this.#turn)
    this.#hasTurn = false
  }
}

function openLockFile(path: string): number {
  return openSync(path, 'a+', 0o600)
}

export function contended(directory: string, timeoutMs: number): PrestigeError {
  return new PrestigeError(
    'CONTENDED',
    `Another process has kept ${directory} locked for ${timeoutMs} ms: it may be stopped or hang. Nothing was ` +
      'written. Try again, end that process, or wait longer with timeoutMs.',
  )
}

/**
 * Keeps commits out while something is read without LMDB. On media that cannot be written a lock is shared where its
 * file is there; where it is not, nobody has written through it, and there is nothing to wait for.
 */
export class ReadPause implements CommitPause {
  readonly #directory: string
  readonly #timeoutMs: number
  readonly #lock: DirectoryLock | undefined
  readonly #file: number | undefined

  constructor(directory: string, timeoutMs: number) {
    this.#directory = directory
    this.#timeoutMs = timeoutMs
    try {
      this.#lock = new DirectoryLock(directory)
    } catch (error) {
      if (!isNotWritable(error)) throw error
      this.#file = openIfThere(join(directory, WRITE_FILE))
    }
  }

  async run<T>(work: () => T): Promise<T> {
    if (this.#lock) return this.#lock.hold(work, this.#timeoutMs, 'read')
    if (this.#file === undefined) return work()
    const end = performance.now() + this.#timeoutMs
    while (!files.tryLock(this.#file, { shared: true })) {
      if (performance.now() >= end) throw contended(this.#directory, this.#timeoutMs)
      await new Promise((resolve) => {
        setTimeout(resolve, FIRST_WAIT_MS)
      })
    }
    try {
      return work()
    } finally {
      files.unlock(this.#file)
    }
  }

  close(): void {
    this.#lock?.close()
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

function isNotWritable(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'EROFS' || code === 'EACCES' || code === 'EPERM'
}

function openIfThere(path: string): number | undefined {
  return existsSync(path) ? openSync(path, 'r') : undefined
}

/**
 * Whether LMDB's lock file is in use by another process, or another thread of this one. To be asked while this thread
 * has the directory closed in LMDB, and nobody can open it. Where only whole files can be locked, nobody knows.
 */
export function isInUse(lockFile: string): boolean {
  if (process.platform !== 'linux') return true
  const file = openSync(lockFile, 'r+')
  try {
    return !files.tryLock(file, 0, 1)
  } finally {
    closeSync(file)
  }
}

/**
 * Shows LMDB that this directory is in use. LMDB keeps locks of its own on its lock file, but they are of a kind that
 * a process loses when any of its threads closes that file: another process would then take the directory as unused
 * and reset the table of readers, or take the readers of this process as dead. These locks last until their own file
 * descriptor is closed. Systems other than Linux lock whole files only, and rely on LMDB's.
 */
export class UseMark {
  readonly #file: number
  #hasProcess = false

  constructor(lockFile: string) {
    this.#file = openSync(lockFile, 'r+')
    if (process.platform === 'linux' && !files.tryLock(this.#file, 0, 1, { shared: true })) {
      closeSync(this.#file)
      throw new PrestigeError(
        'BACKEND_UNAVAILABLE',
        `${lockFile} is locked by another program. Open the directory with prestige only.`,
      )
    }
    this.renew()
  }

  /** Marks this process as alive, if LMDB's own mark has been lost; as long as that is there, this cannot be taken. */
  renew(): void {
    if (this.#hasProcess || process.platform !== 'linux') return
    this.#hasProcess = files.tryLock(this.#file, process.pid, 1, { shared: true })
  }

  get isRemoved(): boolean {
    return fstatSync(this.#file).nlink === 0
  }

  close(): void {
    closeSync(this.#file)
  }
}
