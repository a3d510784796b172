/**
 * What do collecting in the background and a running backup cost the puts beside them? The store has many contents
 * without keys, which one side collects while it puts and the other one leaves; or many keys, which are backed up.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { openStore, type Store, type StoreOptions } from 'prestige-dedup'

import type { Bench, Case, Fixture, Place, Sample } from './harness/bench.ts'
import { hashedKeys, scaled, values } from './harness/data.ts'
import { diskBytes, inFlight, measure } from './harness/measure.ts'

const BYTES = 1024
const IN_FLIGHT = 32

const released: Fixture = {
  name: 'released',
  async build({ directory, scale }) {
    const count = scaled(100_000, scale)
    const keys = hashedKeys(count, 'released')
    const all = values(count, BYTES, 'none', 11)
    const store = await openStore(directory, { durability: 'os', gc: 'manual' })
    await inFlight(256, count, (at) => store.put(keys[at]!, all[at]!))
    await inFlight(256, count, (at) => store.delete(keys[at]!))
    await store.close()
  },
}

const filled: Fixture = {
  name: 'filled',
  async build({ directory, scale }) {
    const count = scaled(100_000, scale)
    const keys = hashedKeys(count, 'filled')
    const all = values(count, BYTES, 'none', 13)
    const store = await openStore(directory, { durability: 'os' })
    await inFlight(256, count, (at) => store.put(keys[at]!, all[at]!))
    await store.close()
  },
}

const CLI = fileURLToPath(new URL('../dist/command/main.js', import.meta.url))

/** Something that goes on beside the puts, as long as they do; resolves when it has ended. */
type Beside = (store: Store, place: Place) => () => Promise<void>

/** One backup after the other, each into a place of its own. */
const besideBackups: Beside = (store, { directory }) => {
  const stop = new AbortController()
  const run = async () => {
    for (let at = 0; !stop.signal.aborted; at++) {
      const { signal } = stop
      await store.backup(join(directory, `backup-${at}`), { signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
    }
  }
  const running = run()
  return async () => {
    stop.abort()
    await running
  }
}

/** The same by the command, whose CPU is not that of the puts. */
const besideCommand: Beside = (_store, { directory }) => {
  let child: ReturnType<typeof spawn> | undefined
  let isOver = false
  const run = async () => {
    for (let at = 0; !isOver; at++) {
      const target = join(directory, `backup-${at}`)
      child = spawn(process.execPath, [CLI, 'backup', target, '-q', '--store', directory])
      await once(child, 'exit')
    }
  }
  const running = run()
  return async () => {
    isOver = true
    child?.kill()
    await running
  }
}

const besideNothing: Beside = () => () => Promise.resolve()

async function puts(
  place: Place,
  options: StoreOptions,
  beside: Beside = besideNothing,
): Promise<Sample> {
  const count = scaled(100_000, place.scale)
  const keys = hashedKeys(count)
  const all = values(count, BYTES, 'half', 12)
  const store = await openStore(place.directory, { durability: 'os', ...options })
  const end = beside(store, place)
  const sample = await measure({ ops: count, place }, (latencies) =>
    inFlight(IN_FLIGHT, count, (at) => latencies.time(at, () => store.put(keys[at]!, all[at]!))),
  )
  await end()
  await store.close()
  return { ...sample, diskBytes: await diskBytes(place.directory) }
}

const puttingBeside: Case = {
  name: '1 KiB, half duplicates, 32 in flight, os, beside collecting',
  changesFixture: true,
  ours: { fixture: released, run: (place) => puts(place, { gc: 'background', gcGraceMs: 0 }) },
  reference: {
    name: 'the same puts, nothing collected',
    fixture: released,
    run: (place) => puts(place, { gc: 'manual' }),
  },
  limits: { ratioMax: 1.15 },
}

function besideBackup(name: string, beside: Beside): Case {
  return {
    name: `1 KiB, half duplicates, 32 in flight, os, beside backups by ${name}`,
    changesFixture: true,
    ours: { fixture: filled, run: (place) => puts(place, {}, beside) },
    reference: {
      name: 'the same puts, nothing backed up',
      fixture: filled,
      run: (place) => puts(place, {}),
    },
    limits: { ratioMax: 1.15 },
  }
}

export const bench: Bench = {
  name: 'background-gc',
  question: 'What do collecting in the background and a running backup cost the puts beside them?',
  cases: [
    puttingBeside,
    besideBackup('the same process', besideBackups),
    besideBackup('another process', besideCommand),
  ],
}
