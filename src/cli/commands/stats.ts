import type { Stats, StoreSettings } from '../../index.ts'
import type { Invocation } from '../invocation.ts'
import { print, printJson } from '../output.ts'
import { table } from '../table.ts'
import { count, percent, ratio, size } from '../units.ts'
import { READING, withStore } from '../with-store.ts'

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

function tableOf(stats: Stats, settings: StoreSettings): string {
  const { keys, keysWithExpiry, valueBytes, contents, contentBytes, bytesSaved, near, semantic } =
    stats
  const { canonical, fidelity } = settings
  const expiring = keysWithExpiry > 0 ? `${count(keysWithExpiry)} of them with an expiry` : ''
  const rows = [
    ['keys', count(keys), size(valueBytes), expiring],
    ['contents', count(contents), size(contentBytes), ''],
    ['saved', ratio(valueBytes, contentBytes), size(bytesSaved), ''],
    ...(near ? [['linked', count(near.links), '', 'contents that are like another']] : []),
    ...(semantic ? [['meanings', count(semantic.links), '', 'contents that mean another']] : []),
    ...(near?.possibleMisses ? [['missed', count(near.possibleMisses), '', 'at most']] : []),
  ]
  const alike = settings.near ? `, ${percent(settings.near.threshold)} similar` : ''
  const meaning = settings.semantic
    ? `, ${percent(settings.semantic.threshold)} alike in meaning`
    : ''
  const ways = `  the same means: canonical ${canonical.name}${alike}${meaning}, fidelity ${fidelity}\n`
  return table(rows, ['left', 'right', 'right', 'left']) + ways
}
