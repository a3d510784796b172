/** Putting a value: prepared outside its transaction, and finished after it. */

import type { Backend } from '../../backends/index.ts'
import { isLimited } from '../call-options.ts'
import type { StoreCore } from '../core.ts'
import type { Notes } from '../observe.ts'
import { prepare, type PutOptions, type StoreKey, type StoreValue } from '../prepare.ts'
import { notePut } from '../put-notes.ts'
import type { Receipt } from '../receipt.ts'
import { runWithPrerequisites, sketchIfNew } from '../transactions/prerequisites.ts'
import { type Bounds, bounded } from './bounded.ts'
import {
  isEnd,
  type Prepared,
  type PutEnd,
  type PutPrerequisite,
  putValue,
} from '../transactions/put.ts'

export const BOUNDS: Bounds = {
  what: 'The put',
  isDecisive: (end) => typeof end === 'object' && end !== null && 'receipt' in end,
}

/** Not async: one promise fewer. */
export function put(
  core: StoreCore,
  key: StoreKey,
  value: StoreValue,
  options: PutOptions | undefined,
): Promise<Receipt> {
  if (options === undefined || !isLimited(options))
    return putOn(core, core.backend, key, value, options)
  return bounded(core.backend, options, BOUNDS, (own) => putOn(core, own, key, value, options))
}

/** `backend`: the engine of the store, or what this call sees of it. */
export async function putOn(
  core: StoreCore,
  backend: Backend,
  key: StoreKey,
  value: StoreValue,
  options: PutOptions | undefined,
): Promise<Receipt> {
  const { gate, observer, preparation } = core
  gate.enter()
  try {
    if (core.isOld) await core.raise()
    if (observer) {
      return await observer.observe('put', (notes) =>
        observed(core, backend, key, value, options, notes),
      )
    }
    const made = prepare(preparation, key, value, options)
    const prepared = made instanceof Promise ? await made : made
    if (prepared.near?.isLong && backend.serial) await sketchIfNew(backend, prepared)
    const end = await backend.run(putValue, prepared)
    if (isEnd(end) && end.released === undefined && !end.swept) return end.receipt
    return (await finish(core, backend, prepared, end)).receipt
  } catch (error) {
    core.invalidate(error)
    throw error
  } finally {
    gate.leave()
  }
}

async function observed(
  core: StoreCore,
  backend: Backend,
  key: StoreKey,
  value: StoreValue,
  options: PutOptions | undefined,
  notes: Notes,
): Promise<Receipt> {
  const prepared = await prepare(core.preparation, key, value, options, notes)
  if (backend.serial) await sketchIfNew(backend, prepared)
  const body = notes.counting(putValue)
  const started = performance.now()
  const end = await finish(core, backend, prepared, await backend.run(body, prepared), body, notes)
  notePut(notes, prepared, end, performance.now() - started)
  return end.receipt
}

/** What is left to do after the transaction: parts to write first, parts not needed, contents to collect. */
async function finish(
  core: StoreCore,
  backend: Backend,
  prepared: Prepared,
  first: PutEnd | PutPrerequisite,
  body: typeof putValue = putValue,
  notes?: Notes,
): Promise<PutEnd> {
  const end = await runWithPrerequisites(backend, prepared, first, body, notes)
  if (end.released && prepared.gc === 'immediate') await core.collectReleased(end.released)
  if (end.swept) await core.adopt()
  return end
}
