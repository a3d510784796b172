/** `changes`: what was put and what has gone, in the order of commits; and whether that is recorded. */

import type { StoreChange } from '../../index.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { READING, withStore } from '../call/with-store.ts'
import { notationOf } from '../print/key-notation.ts'
import { jsonOf, print, printJson, tell } from '../print/output.ts'
import { readDuration, time } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [what] = invocation.operands
  if (what === undefined) return list(invocation)
  if (what === 'on' || what === 'off') return turn(invocation, what === 'on')
  throw usageFailure('Usage: prestige changes [on|off]')
}

async function turn(invocation: Invocation, isOn: boolean): Promise<number> {
  const keptFor = invocation.text('kept-for')
  const limits = {
    ...(keptFor !== undefined && { retentionMs: readDuration(keptFor, 'kept-for') }),
    maxChanges: invocation.wholeNumber('max-changes'),
  }
  const access = { create: isOn, more: { changes: isOn && limits } }
  const cursor = await withStore(invocation, access, async (store) =>
    isOn ? store.changesCursor() : undefined,
  )
  if (invocation.flag('json')) await printJson({ isOn, ...(cursor && { cursor }) })
  else if (cursor) await print(`changes are recorded from cursor ${cursor} on\n`)
  else await print('changes are not recorded any more\n')
  return 0
}

async function list(invocation: Invocation): Promise<number> {
  const follow = invocation.flag('follow')
  const lineOf = invocation.flag('json') ? jsonLine : textLine
  let last = invocation.text('after')
  const options = {
    after: last,
    prefix: invocation.keyOption('prefix'),
    limit: invocation.wholeNumber('limit'),
    follow,
    signal: invocation.signal,
    onCursor: (cursor: string) => void (last = cursor),
  }
  await withStore(invocation, READING, async (store) => {
    for await (const change of store.changes(options)) {
      await print(lineOf(change))
      last = change.cursor
    }
  })
  if (last !== undefined) tell(`Go on with: prestige changes --after ${last}\n`)
  return 0
}

function jsonLine(change: StoreChange): string {
  return `${jsonOf(change)}\n`
}

function textLine({ cursor, kind, content, key, digest, at }: StoreChange): string {
  const what = (content === 'duplicate' ? `${kind} again` : kind).padEnd(9)
  return `${cursor}  ${time(at)}  ${what}  ${digest.slice(0, 12)}  ${notationOf(key)}\n`
}
