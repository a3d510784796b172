/** Putting a value: prepared outside its transaction, and finished after it. */

import type { StoreCore } from '../core.ts'
import type { Notes } from '../observe.ts'
import {
  checkPutOptions,
  gatheredBytesMax,
  keyBytes,
  prepare,
  prepareStaged,
  type PutOptions,
  type StoreKey,
  type StoreStream,
  type StoreValue,
} from '../prepare.ts'
import { notePut } from '../put-notes.ts'
import type { Receipt } from '../receipt.ts'
import { gather, isStream, stageStream } from './value-stream.ts'
import { packIfNew, runWithPrerequisites, sketchIfNew } from '../transactions/prerequisites.ts'
import {
  isEnd,
  type Prepared,
  type PutEnd,
  type PutPrerequisite,
  putValue,
} from '../transactions/put.ts'
import { withStaged } from '../transactions/staging.ts'

export async function put(
  core: StoreCore,
  key: StoreKey,
  value: StoreValue | StoreStream,
  options: PutOptions | undefined,
): Promise<Receipt> {
  if (isStream(value)) return putStream(core, key, value, options)
  const { backend, gate, observer, preparation } = core
  gate.enter()
  try {
    if (core.isOld) await core.raise()
    if (observer) {
      return await observer.observe('put', (notes) => observed(core, key, value, options, notes))
    }
    const made = prepare(preparation, key, value, options)
    let prepared = made instanceof Promise ? await made : made
    if (prepared.packed && backend.serial) prepared = await packIfNew(backend, prepared)
    if (prepared.near?.isLong && backend.serial) await sketchIfNew(backend, prepared)
    const end = await backend.run(putValue, prepared)
    if (isEnd(end) && end.released === undefined && end.swept === undefined) return end.receipt
    return (await finish(core, prepared, end)).receipt
  } catch (error) {
    core.invalidate(error)
    throw error
  } finally {
    gate.leave()
  }
}

/** A stream that is short is a value like any other; a long one is staged while it comes. */
async function putStream(
  core: StoreCore,
  key: StoreKey,
  value: StoreStream,
  options: PutOptions | undefined,
): Promise<Receipt> {
  const { backend, gate, preparation } = core
  return gate.pass(async () => {
    if (core.isOld) await core.raise()
    const bytes = keyBytes(key)
    if (options) checkPutOptions(options)
    const gathered = await gather(value, gatheredBytesMax(preparation), options?.signal)
    if (!('rest' in gathered)) return put(core, bytes, gathered, options)
    const { staged, digest } = await stageStream(backend, preparation, gathered)
    const prepared = prepareStaged(preparation, bytes, options, staged, digest)
    const first = await withStaged(backend, staged.id, () => backend.run(putValue, prepared))
    return (await finish(core, prepared, first)).receipt
  })
}

async function observed(
  core: StoreCore,
  key: StoreKey,
  value: StoreValue,
  options: PutOptions | undefined,
  notes: Notes,
): Promise<Receipt> {
  const { backend, preparation } = core
  let prepared = await prepare(preparation, key, value, options, notes)
  if (prepared.packed && backend.serial) prepared = await packIfNew(backend, prepared)
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
  if (end.released && prepared.gc === 'immediate') await core.collectReleased(end.released)
  if (end.swept) await core.finishSweep(end.swept)
  return end
}
