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

/** Whether the key was there, and how long its value was. Not async: one promise fewer. */
export function remove(
  core: StoreCore,
  key: StoreKey,
  options?: DeleteOptions,
): Promise<RemoveEnd> {
  if (options === undefined) return removeOn(core, core.backend, key, undefined)
  return removeIf(core, key, options)
}

async function removeIf(
  core: StoreCore,
  key: StoreKey,
  options: DeleteOptions,
): Promise<RemoveEnd> {
  refuseUnknown(options, DELETE_OPTIONS)
  const condition = conditionOf(options)
  return bounded(core.backend, options, BOUNDS, (own) => removeOn(core, own, key, condition))
}

async function removeOn(
  core: StoreCore,
  backend: Backend,
  key: StoreKey,
  condition: Condition | undefined,
): Promise<RemoveEnd> {
  const { gate, observer } = core
  gate.enter()
  try {
    if (core.isOld) await core.raise()
    if (!observer) return await removed(core, backend, key, condition)
    return await observer.observe('delete', (notes) =>
      removed(core, backend, key, condition, notes),
    )
  } catch (error) {
    core.invalidate(error)
    throw error
  } finally {
    gate.leave()
  }
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
  notes?.ask()
  const end = await backend.run(body, { key: bytes, gc, keeping, condition })
  if (notes) {
    notes.measure('commit_us', notes.askedMs * 1000)
    if (!end.existed) notes.count('not_found_total')
    if (end.swept) noteSwept(notes)
  }
  if (end.released) await core.afterRelease(end.released)
  if (end.swept) await core.finishSweep(end.swept)
  return end
}
