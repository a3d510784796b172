/** Putting a value: prepared outside its transaction, and finished after it. */

import type { StoreCore } from '../core.ts'
import type { Notes } from '../observe.ts'
import { prepare, type PutOptions, type StoreKey, type StoreValue } from '../prepare.ts'
import { notePut } from '../put-notes.ts'
import type { Receipt } from '../receipt.ts'
import { runWithPrerequisites, sketchIfNew } from '../transactions/prerequisites.ts'
import {
  isEnd,
  type Prepared,
  type PutEnd,
  type PutPrerequisite,
  putValue,
} from '../transactions/put.ts'

export async function put(
  core: StoreCore,
  key: StoreKey,
  value: StoreValue,
  options: PutOptions | undefined,
): Promise<Receipt> {
  const { backend, gate, observer, preparation } = core
  gate.enter()
  try {
    if (core.isOld) await core.raise()
    if (observer) {
      return await observer.observe('put', (notes) => observed(core, key, value, options, notes))
    }
    const made = prepare(preparation, key, value, options)
    const prepared = made instanceof Promise ? await made : made
    if (prepared.near?.isLong && backend.serial) await sketchIfNew(backend, prepared)
    const end = await backend.run(putValue, prepared)
    if (isEnd(end) && end.released === undefined && !end.swept) return end.receipt
    return (await finish(core, prepared, end)).receipt
  } catch (error) {
    core.invalidate(error)
    throw error
  } finally {
    gate.leave()
  }
}

async function observed(
  core: StoreCore,
  key: StoreKey,
  value: StoreValue,
  options: PutOptions | undefined,
  notes: Notes,
): Promise<Receipt> {
  const { backend, preparation } = core
  const prepared = await prepare(preparation, key, value, options, notes)
  if (backend.serial) await sketchIfNew(backend, prepared)
  const body = notes.counting(putValue)
  const started = performance.now()
  const end = await finish(core, prepared, await backend.run(body, prepared), body, notes)
  notePut(notes, prepared, end, performance.now() - started)
  return end.receipt
}

/** What is left to do after the transaction: parts to write first, parts not needed, contents to collect. */
async function finish(
  core: StoreCore,
  prepared: Prepared,
  first: PutEnd | PutPrerequisite,
  body: typeof putValue = putValue,
  notes?: Notes,
): Promise<PutEnd> {
  const end = await runWithPrerequisites(core.backend, prepared, first, body, notes)
  if (end.released) await core.afterRelease(end.released)
  if (end.swept) await core.adopt()
  return end
}
