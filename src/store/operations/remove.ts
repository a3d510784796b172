/** Removing a key, and what is left to do after its transaction. */

import type { Backend } from '../../backends/index.ts'
import { CALL_OPTIONS, type CallOptions } from '../call-options.ts'
import type { StoreCore } from '../core.ts'
import type { Notes } from '../observe.ts'
import { keyBytes, refuseUnknown, type StoreKey } from '../prepare.ts'
import { noteSwept } from '../put-notes.ts'
import { type Condition, conditionOf, type MatchOptions } from '../transactions/condition.ts'
import { type RemoveEnd, removeKey } from '../transactions/remove.ts'
import { bounded, type Bounds } from './bounded.ts'

export interface DeleteOptions extends MatchOptions, CallOptions {}

const DELETE_OPTIONS = ['ifMatch', ...CALL_OPTIONS]
const BOUNDS: Bounds = { what: 'The delete', isDecisive: () => true }

/** Whether the key was there, and how long its value was. */
export async function remove(
  core: StoreCore,
  key: StoreKey,
  options?: DeleteOptions,
): Promise<RemoveEnd> {
  const { backend } = core
  if (options === undefined) return removeOn(core, backend, key, undefined)
  refuseUnknown(options, DELETE_OPTIONS)
  const condition = conditionOf({ ifMatch: options.ifMatch })
  return bounded(backend, options, BOUNDS, (own) => removeOn(core, own, key, condition))
}

async function removeOn(
  core: StoreCore,
  backend: Backend,
  key: StoreKey,
  condition: Condition | undefined,
): Promise<RemoveEnd> {
  const { gate, observer } = core
  return gate.pass(async () => {
    if (core.isOld) await core.raise()
    if (!observer) return removed(core, backend, key, condition)
    return observer.observe('delete', (notes) => removed(core, backend, key, condition, notes))
  })
}

async function removed(
  core: StoreCore,
  backend: Backend,
  key: StoreKey,
  condition: Condition | undefined,
  notes?: Notes,
): Promise<RemoveEnd> {
  const { gc, keeping } = core.preparation
  const body = notes ? notes.counting(removeKey) : removeKey
  const bytes = keyBytes(key)
  notes?.attribute('key_bytes', bytes.byteLength)
  const started = notes && performance.now()
  const end = await backend.run(body, { key: bytes, gc, keeping, condition }).catch((error) => {
    core.invalidate(error)
    throw error
  })
  if (notes && started !== undefined) {
    notes.measure('commit_us', (performance.now() - started) * 1000)
    if (!end.existed) notes.count('not_found_total')
    if (end.swept) noteSwept(notes)
  }
  if (end.released && gc === 'immediate') await core.collectReleased(end.released)
  if (end.swept) await core.adopt()
  return end
}
