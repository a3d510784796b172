/** `backups TARGET`: a line for each, the newest last. */

import type { BackupInfo } from '../../store/index.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { countOf, size } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { listBackups } = await import('../../store/index.ts')
  const found = await listBackups(invocation.operand(0))
  if (invocation.flag('json')) await printJson(found)
  else if (found.length === 0) await print('no backups\n')
  else await print(table(found.map(rowOf), ['left', 'left', 'right', 'right', 'left']))
  return 0
}

function rowOf({ id, at, keys, valueBytes, namespace }: BackupInfo): string[] {
  const name = namespace === '' ? '' : `namespace ${notationOf(Buffer.from(namespace))}`
  return [id, new Date(at).toISOString(), countOf(keys, 'key'), size(valueBytes), name]
}
