/** `del KEY...` or `del --prefix P`: afterwards none of the keys is there, which is no failure if one never was. */

import { deleteKeys } from '../call/delete-keys.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { print, printJson } from '../print/output.ts'
import { withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const prefix = invocation.keyOption('prefix')
  if (prefix !== undefined) {
    if (prefix.length === 0)
      throw usageFailure('--prefix is empty. prestige clear deletes all keys.')
    return deleteKeys(invocation, (store, options) => store.deleteRange({ ...options, prefix }))
  }
  if (invocation.operands.length === 0) throw usageFailure('del needs KEY... or --prefix P.')
  const keys = invocation.operands.map((typed) => Buffer.from(invocation.key(typed)))
  const outcomes = await withStore(invocation, { create: false }, (store) => store.deleteMany(keys))
  const deleted: Buffer[] = []
  const missing: Buffer[] = []
  outcomes.forEach((outcome, at) => {
    if (!outcome.ok) throw outcome.error
    const key = keys[at]
    if (key) (outcome.result ? deleted : missing).push(key)
  })
  if (invocation.flag('json')) await printJson({ deleted, missing })
  else if (!invocation.flag('quiet')) await print(sentences(deleted, missing))
  return 0
}

function sentences(deleted: readonly Buffer[], missing: readonly Buffer[]): string {
  return [
    ...deleted.map((key) => `deleted "${notationOf(key)}"\n`),
    ...missing.map((key) => `"${notationOf(key)}" was not there\n`),
  ].join('')
}
