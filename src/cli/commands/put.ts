/** `put KEY [VALUE]`: the value from the arguments, a file or stdin. */

import type { Receipt } from '../../index.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { paint, print, printJson } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { refusal } from '../print/refusal.ts'
import { sameness } from '../print/sameness.ts'
import { readDuration, size, time } from '../print/units.ts'
import { valueStreamOf } from '../call/value-given.ts'
import { locationOf, withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const key = invocation.key(invocation.operand(0))
  const ttl = invocation.text('ttl')
  const ttlMs = ttl === undefined ? undefined : readDuration(ttl, 'ttl')
  const ifMatch = digestGiven(invocation)
  locationOf(invocation)
  const value = await valueStreamOf(invocation, 1)
  const { signal } = invocation
  const progress = typeof value === 'string' ? undefined : Progress.of(invocation, 'value')
  // One put is no reason to evict more than what is above the bounds.
  const access = { create: true, more: { evictTo: 1 } }
  const receipt = await withStore(invocation, access, (store) =>
    store.put(key, typeof value === 'string' ? value : counted(value, progress), {
      ttlMs,
      signal,
      ifAbsent: invocation.flag('if-absent'),
      ...(ifMatch !== undefined && { ifMatch }),
      ...(invocation.flag('sliding') && { sliding: true }),
    }),
  ).finally(() => progress?.end())
  if (invocation.flag('json')) await printJson(receipt)
  else if (!invocation.flag('quiet')) await print(sentence(Buffer.from(key), receipt))
  return 0
}

function digestGiven(invocation: Invocation): string | undefined {
  const digest = invocation.text('if-match')
  if (digest === undefined || /^[0-9a-f]{64}$/i.test(digest)) return digest
  throw usageFailure(
    `--if-match takes the SHA-256 of a value, 64 digits in hex, not "${digest}". prestige explain KEY prints it as digest.`,
  )
}

async function* counted(
  value: AsyncIterable<Buffer>,
  progress: Progress | undefined,
): AsyncGenerator<Buffer> {
  for await (const piece of value) {
    yield piece
    progress?.advanceBytes(piece.byteLength)
  }
  progress?.advance(0)
}

function sentence(key: Buffer, receipt: Receipt): string {
  const { expiresAt, notCompared } = receipt
  const outcome = paint(receipt.content === 'new' ? 'green' : 'yellow', receipt.key)
  const expiry = expiresAt === undefined ? '' : `; expires ${time(expiresAt)}`
  const why = notCompared === 'not-text' ? 'it is no text' : 'it is too long'
  const alone = notCompared === undefined ? '' : `; not compared with others: ${why}`
  const healed = receipt.healed ? '; its stored bytes were damaged, and were written again' : ''
  return `${outcome} "${notationOf(key)}": ${whatHappened(receipt)}${healed}${alone}${expiry}\n`
}

function whatHappened(receipt: Receipt): string {
  const { key, content, of, method, bytes, bytesSaved } = receipt
  const first = of && `"${notationOf(of.firstKey)}"`
  if (key === 'unchanged') {
    if (method === 'near' || method === 'semantic')
      return `it keeps the bytes of ${first}, ${sameness(receipt)}`
    return `it had this value already (${size(bytes)})`
  }
  if (first === undefined || content === 'new') {
    const shared = bytesSaved > 0 ? `, of which ${size(bytesSaved)} were there` : ''
    return `new content, ${size(bytes)}${shared}${refusal(receipt.refused)}`
  }
  if (content === 'linked') return `${size(bytes)}, linked to ${first}, ${sameness(receipt)}`
  return `duplicate of ${first}, ${sameness(receipt)}; ${size(bytesSaved)} saved`
}
