import { setTimeout as sleep } from 'node:timers/promises'

import type { Store, StoreSettings, StoreStats } from '../../index.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { count, percent, ratio, size } from '../print/units.ts'
import { READING, withStore } from '../call/with-store.ts'

const WATCH_SECONDS = 2

export async function run(invocation: Invocation): Promise<number> {
  const everyMs = watchMs(invocation)
  await withStore(invocation, READING, async (store) => {
    if (everyMs !== undefined) return watch(store, everyMs, invocation)
    const stats = await store.stats()
    const { settings } = store
    if (invocation.flag('json')) await printJson({ ...stats, settings })
    else await print(tableOf(stats, settings))
  })
  return 0
}

function watchMs(invocation: Invocation): number | undefined {
  if (invocation.flag('watch')) return WATCH_SECONDS * 1000
  const text = invocation.text('watch')
  if (text === undefined) return undefined
  const seconds = /^\d*\.?\d+$/.test(text) ? Number(text) : 0
  if (seconds >= 0.1 && seconds <= 86_400) return seconds * 1000
  throw usageFailure(`--watch=${text}: must be a number of seconds, from 0.1 to 86400.`)
}

/** Until a signal comes, which ends the command. */
async function watch(store: Store, everyMs: number, invocation: Invocation): Promise<void> {
  const { signal } = invocation
  const isJson = invocation.flag('json')
  const isDrawn = process.stdout.isTTY && !isJson
  while (!signal.aborted) {
    const stats = await store.stats()
    if (isJson) await printJson({ time: new Date().toISOString(), ...stats })
    else await print(isDrawn ? `\r\u001b[K${lineOf(stats)}` : `${lineOf(stats)}\n`)
    // Rejects when the signal comes, and the loop ends.
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
  if (isDrawn) await print('\n')
}

function lineOf({ keys, contents, contentBytes, valueBytes, bytesSaved }: StoreStats): string {
  const saved = `saved ${ratio(valueBytes, contentBytes)} ${size(Math.max(0, bytesSaved))}`
  return `${time()}  keys ${count(keys)}  contents ${count(contents)} ${size(contentBytes)}  ${saved}`
}

function time(): string {
  return new Date().toISOString().slice(11, 19)
}

function tableOf(stats: StoreStats, settings: StoreSettings): string {
  const { keys, keysWithExpiry, valueBytes, contents, contentBytes, near, semantic } = stats
  const { bytesSaved, liveBytes, garbageBytes, hasMoreGarbage, storedBytes, fileBytes } = stats
  const { canonical, fidelity, deltas } = settings
  const least = hasMoreGarbage ? 'at least ' : ''
  const garbage =
    garbageBytes > 0 ? `${least}${size(garbageBytes)} of them without keys; see collect` : ''
  const expiring = keysWithExpiry > 0 ? `${count(keysWithExpiry)} of them with an expiry` : ''
  const rows = [
    ['keys', count(keys), size(valueBytes), expiring],
    ['contents', count(contents), size(contentBytes), garbage],
    ['saved', ratio(valueBytes, liveBytes), size(bytesSaved), ''],
    ...(storedBytes === contentBytes
      ? []
      : [['stored', ratio(valueBytes, storedBytes), size(storedBytes), 'compressed; chunks once']]),
    ...(fileBytes === undefined ? [] : [['file', '', size(fileBytes), '']]),
    ...(near ? [['near', count(near.links), '', 'contents linked to a similar one']] : []),
    ...(semantic ? [['semantic', count(semantic.links), '', 'contents linked by meaning']] : []),
    ...(near?.possibleMisses
      ? [['missed', count(near.possibleMisses), '', 'near duplicates, at most']]
      : []),
  ]
  const whole = fidelity === 'own' && !deltas ? ', no deltas' : ''
  const alike = settings.near ? `, near from ${percent(settings.near.threshold)}${whole}` : ''
  const meaning = settings.semantic ? `, semantic from ${percent(settings.semantic.threshold)}` : ''
  const ways = `  settings: canonical ${canonical.name}${alike}${meaning}, fidelity ${fidelity}\n`
  return table(rows, ['left', 'right', 'right', 'left']) + ways
}
