/**
 * What a backup may hold: where the engine holds a moment, exactly the keys of the moment that it says; elsewhere, every key as it was at some moment in between, and none is missing that was there all the time.
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

interface State {
  readonly entries: Entries
  /** Every commit has a time of its own: a moment from this one on sees it. */
  readonly from: number
}

export class BackupOracle {
  readonly #target: string
  readonly #states: State[] = []
  readonly #time: () => number
  taken = 0

  constructor(target: string, time: () => number) {
    this.#target = target
    this.#time = time
  }

  /** After every commit. */
  note(state: Entries, from: number): void {
    this.#states.push({ entries: state, from })
  }

  async take(store: Store): Promise<void> {
    const first = Math.max(0, this.#states.length - 1)
    const { id, at, isOneMoment } = await store.backup(this.#target)
    const states = this.#states.slice(first)
    const found = await this.#listing(id, at)
    if (isOneMoment) requireMoment(found, states, at)
    else
      requireSeen(
        found,
        states.map((state) => state.entries),
        this.#time(),
      )
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

function requireMoment(found: Listing, states: readonly State[], at: number): void {
  const state = states.findLast(({ from }) => from <= at)
  const live = [...(state?.entries ?? [])].filter(([, entry]) => entry.isLive(at))
  const isThis =
    live.length === found.size && live.every(([key, one]) => found.get(key) === shown(one))
  if (!isThis) fail('a backup is not of the moment that it says')
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
