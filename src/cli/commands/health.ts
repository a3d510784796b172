import type { StoreHealth } from '../../index.ts'
import type { Invocation } from '../call/invocation.ts'
import { READING, withStore } from '../call/with-store.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { count, duration, size } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const health = await withStore(invocation, READING, (store) => store.health())
  if (invocation.flag('json')) await printJson(health)
  else await print(tableOf(health))
  return 0
}

function tableOf(health: StoreHealth): string {
  const { totalKeys, totalObjects, totalBytes, dedupRatio, expiredKeys, orphanedObjects } = health
  const { oldestObjectAgeMs: oldest, newestObjectAgeMs: newest } = health
  const rows = [
    ['keys', count(totalKeys), ''],
    ['contents', count(totalObjects), size(totalBytes)],
    ['ratio', dedupRatio.toFixed(2), 'bytes of values to bytes of contents'],
    ['expired', count(expiredKeys), waiting(expiredKeys, 'keys')],
    ['orphaned', count(orphanedObjects), waiting(orphanedObjects, 'contents')],
    ...(oldest === undefined ? [] : [['oldest', duration(oldest), 'since it was stored']]),
    ...(newest === undefined ? [] : [['newest', duration(newest), 'since it was stored']]),
  ]
  return table(rows, ['left', 'right', 'left'])
}

/** More than a thousand are not counted. */
function waiting(counted: number, noun: string): string {
  if (counted === 0) return ''
  return `${noun}${counted >= 1000 ? ' or more' : ''}; see collect`
}
