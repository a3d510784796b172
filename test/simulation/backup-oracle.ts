/**
 * What a backup may hold: where the engine holds a moment, exactly the keys of one moment between its beginning and its
 * end; elsewhere, every key as it was at some moment in between, and none is missing that was there all the time.
 */

import { MemoryBackend } from '../../src/backends/memory/backend.ts'
import { checkBackup } from '../../src/store/backup/check-backup.ts'
import { restoreBackup } from '../../src/store/backup/restore-backup.ts'
import { entries, type Entry } from '../../src/store/rows.ts'
import type { Store } from '../../src/store/store.ts'
import { fail } from './invariants.ts'

type Entries = ReadonlyMap<string, Entry>
/** Key to digest and expiry. */
type Listing = Map<string, string>

export class BackupOracle {
  readonly #target: string
  readonly #states: Entries[] = []
  readonly #time: () => number
  taken = 0

  constructor(target: string, time: () => number) {
    this.#target = target
    this.#time = time
  }

  /** After every commit. */
  note(state: Entries): void {
    this.#states.push(state)
  }

  async take(store: Store): Promise<void> {
    const first = Math.max(0, this.#states.length - 1)
    const { id, at, isOneMoment } = await store.backup(this.#target)
    const states = this.#states.slice(first)
    const found = await this.#listing(id, at)
    if (isOneMoment) requireOneMoment(found, states, at)
    else requireSeen(found, states, this.#time())
    this.taken++
  }

  /** Whatever was cut off: what is listed is whole. */
  async check(): Promise<void> {
    const { problems } = await checkBackup(this.#target, { readData: true })
    if (problems.length > 0) fail(`a backup is damaged: ${JSON.stringify(problems[0])}`)
  }

  async #listing(backup: string, at: number): Promise<Listing> {
    const restored = new MemoryBackend({ clock: () => at })
    await restoreBackup(this.#target, restored, { backup })
    const found: Listing = new Map()
    for await (const { key, value } of restored.scan(entries))
      found.set(key.toString('latin1'), shown(value))
    return found
  }
}

function shown({ digest, expiresAt }: Entry): string {
  return `${digest.toString('hex')} ${expiresAt ?? 'never'}`
}

function requireOneMoment(found: Listing, states: readonly Entries[], at: number): void {
  const isThis = (state: Entries) => {
    const live = [...state].filter(([, entry]) => entry.isLive(at))
    return live.length === found.size && live.every(([key, one]) => found.get(key) === shown(one))
  }
  if (!states.some(isThis)) fail('a backup is of no moment of the store')
}

function requireSeen(found: Listing, states: readonly Entries[], end: number): void {
  const isOf = (key: string, seen: string) => (state: Entries) => {
    const entry = state.get(key)
    return entry !== undefined && shown(entry) === seen
  }
  for (const [key, seen] of found)
    if (!states.some(isOf(key, seen))) fail(`a backup has a value that ${key} never had`)
  const [first] = states
  for (const key of first?.keys() ?? []) {
    const isAlways = states.every((state) => state.get(key)?.isLive(end) === true)
    if (isAlways && !found.has(key)) fail(`${key} was there all the time, and is in no backup`)
  }
}
