import type { StoreStats, StoreSettings } from '../../index.ts'
import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { count, percent, ratio, size } from '../print/units.ts'
import { READING, withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [stats, settings] = await withStore(
    invocation,
    READING,
    async (store) => [await store.stats(), store.settings] as const,
  )
  if (invocation.flag('json')) await printJson({ ...stats, settings })
  else await print(tableOf(stats, settings))
  return 0
}

function tableOf(stats: StoreStats, settings: StoreSettings): string {
  const { keys, keysWithExpiry, valueBytes, contents, contentBytes, near, semantic } = stats
  const { bytesSaved, liveBytes, garbageBytes, fileBytes } = stats
  const { canonical, fidelity } = settings
  const garbage = garbageBytes > 0 ? `${size(garbageBytes)} of them without keys; see collect` : ''
  const expiring = keysWithExpiry > 0 ? `${count(keysWithExpiry)} of them with an expiry` : ''
  const rows = [
    ['keys', count(keys), size(valueBytes), expiring],
    ['contents', count(contents), size(contentBytes), garbage],
    ['saved', ratio(valueBytes, liveBytes), size(bytesSaved), ''],
    ...(fileBytes === undefined ? [] : [['file', '', size(fileBytes), '']]),
    ...(near ? [['near', count(near.links), '', 'contents linked to a similar one']] : []),
    ...(semantic ? [['semantic', count(semantic.links), '', 'contents linked by meaning']] : []),
    ...(near?.possibleMisses
      ? [['missed', count(near.possibleMisses), '', 'near duplicates, at most']]
      : []),
  ]
  const alike = settings.near ? `, near from ${percent(settings.near.threshold)}` : ''
  const meaning = settings.semantic ? `, semantic from ${percent(settings.semantic.threshold)}` : ''
  const ways = `  settings: canonical ${canonical.name}${alike}${meaning}, fidelity ${fidelity}\n`
  return table(rows, ['left', 'right', 'right', 'left']) + ways
}
