/** `put KEY [VALUE]`: the value from the arguments, a file or stdin. */

import type { Receipt } from '../../index.ts'
import { usageFailure } from '../failure.ts'
import type { Invocation } from '../invocation.ts'
import { notationOf } from '../key-notation.ts'
import { paint, print, printJson } from '../output.ts'
import { readFileWhole, readStdin } from '../read-input.ts'
import { readDuration, size, time } from '../units.ts'
import { locationOf, withStore } from '../with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const key = invocation.key(invocation.operand(0))
  const ttl = invocation.text('ttl')
  const ttlMs = ttl === undefined ? undefined : readDuration(ttl, 'ttl')
  locationOf(invocation)
  const value = await valueOf(invocation)
  const receipt = await withStore(invocation, { create: true }, (store) =>
    store.put(key, value, { ttlMs }),
  )
  if (invocation.flag('json')) await printJson(receipt)
  else if (!invocation.flag('quiet')) await print(sentence(Buffer.from(key), receipt))
  return 0
}

async function valueOf(invocation: Invocation): Promise<string | Buffer> {
  const path = invocation.text('file')
  const typed = invocation.operands[1]
  if (path !== undefined && typed !== undefined) {
    throw usageFailure('Give the value or --file, not both.')
  }
  if (path !== undefined) return readFileWhole(path, invocation.signal)
  return typed === undefined || typed === '-' ? readStdin(invocation.signal) : typed
}

function sentence(key: Buffer, receipt: Receipt): string {
  const { expiresAt } = receipt
  const outcome = paint(receipt.content === 'new' ? 'green' : 'yellow', receipt.key)
  const expiry = expiresAt === undefined ? '' : `; expires ${time(expiresAt)}`
  return `${outcome} "${notationOf(key)}": ${whatHappened(receipt)}${expiry}\n`
}

function whatHappened({ key, content, of, method, bytes, bytesSaved }: Receipt): string {
  if (key === 'unchanged') return `it had this value already (${size(bytes)})`
  if (of === undefined || content === 'new') return `new content, ${size(bytes)}`
  const first = `"${notationOf(of.firstKey)}"`
  if (content === 'linked') return `${size(bytes)}, linked to ${first}, the same in canonical form`
  const how = method === 'canonical' ? 'the same in canonical form' : 'the same bytes'
  return `duplicate of ${first}, ${how}; ${size(bytesSaved)} saved`
}
