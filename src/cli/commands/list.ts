/** `list [LOCATION]`: what is kept there, in all namespaces. */

import type { Stored } from '../../location/index.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { stateWithin } from '../call/location.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { countOf, size } from '../print/units.ts'
import { existingLocationOf } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [typed] = invocation.operands
  const location = typed === undefined ? existingLocationOf(invocation) : stateWithin(typed)
  const { listLocation } = await import('../../location/index.ts')
  const namespace = invocation.text('namespace')
  const all = await listLocation(location)
  const found = all.filter((one) => namespace === undefined || one.namespace === namespace)
  if (invocation.flag('json')) await printJson(found)
  else await print(found.length > 0 ? table(found.map(rowOf), LEFT) : 'nothing is stored here\n')
  return 0
}

const LEFT = ['left', 'left', 'left', 'left'] as const

function rowOf({ kind, format, counts, namespace }: Stored): string[] {
  const name = namespace === '' ? '' : `namespace ${notationOf(Buffer.from(namespace))}`
  return [kind, `format ${String(format)}`, countsText(counts), name]
}

/** `2 keys, 1 content, 3 B`: names are plurals, and those of bytes are sizes. */
function countsText(counts: Stored['counts']): string {
  return Object.entries(counts)
    .map(([name, number]) =>
      name.endsWith('Bytes') ? size(number) : countOf(number, name.slice(0, -1)),
    )
    .join(', ')
}
