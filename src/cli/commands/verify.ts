/** `verify`: what was read, what is wrong, and an exit code that says whether the store is sound. */

import type { Problem, Store, VerifyReport } from '../../index.ts'
import { EXIT_CORRUPT } from '../failure.ts'
import type { Invocation } from '../invocation.ts'
import { notationOf } from '../key-notation.ts'
import { paint, print, printJson } from '../output.ts'
import { Progress } from '../progress.ts'
import { countOf, size } from '../units.ts'
import { withStore } from '../with-store.ts'

const KEYS_NAMED_MAX = 5

export async function run(invocation: Invocation): Promise<number> {
  const report = await withStore(invocation, { create: false }, (store) =>
    verify(store, invocation),
  )
  if (invocation.flag('json')) await printJson(report)
  else if (!report.isSound || !invocation.flag('quiet')) await print(textOf(report))
  return report.isSound ? 0 : EXIT_CORRUPT
}

async function verify(store: Store, invocation: Invocation): Promise<VerifyReport> {
  const progress = Progress.of(invocation, 'row')
  const { contentBytes } = await store.stats()
  progress.expect({ bytes: contentBytes })
  try {
    return await store.verify({
      repair: invocation.flag('repair'),
      signal: invocation.signal,
      onProgress: ({ rows, bytes }) => progress.reach(rows, bytes),
    })
  } finally {
    progress.end()
  }
}

function textOf({ keys, contents, contentBytes, problems, isSound }: VerifyReport): string {
  const read = `${countOf(keys, 'key')}, ${countOf(contents, 'content')}, ${size(contentBytes)}`
  const verdict = isSound ? paint('green', 'sound') : paint('red', 'damaged')
  const found = problems.length > 0 ? `, ${countOf(problems.length, 'problem')}` : ''
  return `${problems.map(lineOf).join('')}${verdict}: ${read}${found}\n`
}

function lineOf({ kind, message, keys, repaired }: Problem): string {
  const named = keys.slice(0, KEYS_NAMED_MAX).map((key) => `"${notationOf(key)}"`)
  const more = keys.length - named.length
  const who = named.length > 0 ? ` [${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}]` : ''
  return `${kind}: ${message}${who}${repaired ? ' (repaired)' : ''}\n`
}
