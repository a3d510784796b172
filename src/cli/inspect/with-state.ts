/** Opens the state that a call asks about, and closes it whatever happens. Nothing is made, and nothing decided. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'

import type { Deduper } from '../../index.ts'
import { isDirectory } from '../../platform/location.ts'
import { Failure, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { stateWithin } from '../call/location.ts'
import { stateOf } from '../dedupe/dedupe-settings.ts'

export async function withState<T>(
  invocation: Invocation,
  use: (deduper: Deduper) => Promise<T>,
): Promise<T> {
  const state = inspectedState(invocation)
  const { openDedupe } = await import('../../dedupe/index.ts')
  const deduper = await openDedupe(state, { create: false, asBefore: true })
  try {
    return await use(deduper)
  } finally {
    await deduper.close()
  }
}

/** `-o DIR` as it was given to dedupe, or `--state`. */
export function inspectedState(invocation: Invocation): string {
  const { command } = invocation
  const out = invocation.text('out')
  const isSaid = (invocation.text('state') ?? invocation.text('backend')) !== undefined
  if (out !== undefined && isSaid) {
    throw usageFailure('-o DIR stands for --state DIR/state: give only one of them.')
  }
  if (isSaid) return stateOf(invocation)
  if (out === undefined || out === '') {
    throw usageFailure(
      `${command} needs -o DIR, the directory that dedupe wrote to, or --state LOCATION.`,
    )
  }
  if (!isDirectory(out)) {
    throw usageFailure(`-o takes a directory, not "${out}". Give it as --state ${out}.`)
  }
  const state = stateWithin(out)
  if (state !== out || existsSync(join(out, 'data.mdb'))) return state
  throw new Failure(
    'missing',
    'STORE_NOT_FOUND',
    `There is no state in ${join(out, 'state')}. If dedupe was run with --state, give the same --state here.`,
  )
}
