/** Putting a value: prepared outside its transaction, and finished after it. */

import type { Backend, Scope } from '../../backends/index.ts'
import { isLimited } from '../call-options.ts'
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
import { reuseRoom } from '../contents/layout.ts'
import { notePut } from '../put-notes.ts'
import type { Receipt } from '../receipt.ts'
import { packIfNew, runWithPrerequisites, sketchIfNew } from '../transactions/prerequisites.ts'
import { type Bounds, bounded } from './bounded.ts'
import { gather, isStream, stageStream } from './value-stream.ts'
import {
  isEnd,
  type Prepared,
  type PutEnd,
  type PutPrerequisite,
  putValue,
} from '../transactions/put.ts'
import { withStaged } from '../transactions/staging.ts'

export const BOUNDS: Bounds = {
  what: 'The put',
  isDecisive: (end) => typeof end === 'object' && end !== null && 'receipt' in end,
}

/** Not async: one promise fewer. */
export function put(
  core: StoreCore,
  key: StoreKey,
  value: StoreValue | StoreStream,
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
  value: StoreValue | StoreStream,
  options: PutOptions | undefined,
): Promise<Receipt> {
  if (isStream(value)) return putStream(core, backend, key, value, options)
  const { gate, observer, preparation } = core
  gate.enter()
  const notes = observer?.begin('put')
  try {
    if (core.isOld) await core.raise()
    const made = prepare(preparation, key, value, options, notes)
    let prepared = made instanceof Promise ? await made : made
    if (prepared.sliding || prepared.metadata) await core.announce(prepared)
    if (prepared.packed && backend.serial) prepared = await packIfNew(backend, prepared)
    if (prepared.near?.isLong && backend.serial) await sketchIfNew(backend, prepared)
    const first = await run(backend, prepared, notes)
    const isFinished = isDone(first) && !core.lifecycle.isBounded
    const end = isFinished ? first : await finish(core, backend, prepared, first, notes)
    if (notes) notePut(notes, prepared, end)
    // An engine that has a file has written it there by now, and keeps nothing of what it was given.
    if (backend.file && !prepared.near && !prepared.keeping.semantic) reuseRoom(prepared.value)
    return end.receipt
  } catch (error) {
    notes?.fail(error)
    core.invalidate(error)
    throw error
  } finally {
    notes?.end()
    gate.leave()
  }
}

/** A stream that is short is a value like any other; a long one is staged while it comes. */
async function putStream(
  core: StoreCore,
  backend: Backend,
  key: StoreKey,
  value: StoreStream,
  options: PutOptions | undefined,
): Promise<Receipt> {
  const { gate, preparation } = core
  return gate.pass(async () => {
    if (core.isOld) await core.raise()
    const bytes = keyBytes(key)
    if (options) checkPutOptions(options)
    const gathered = await gather(value, gatheredBytesMax(preparation), options?.signal)
    if (!('rest' in gathered)) return putOn(core, backend, bytes, gathered, options)
    const notes = core.observer?.begin('put')
    try {
      const { staged, digest } = await stageStream(core.backend, backend, preparation, gathered)
      const prepared = prepareStaged(preparation, bytes, options, staged, digest)
      if (prepared.sliding || prepared.metadata) await core.announce(prepared)
      const first = await withStaged(core.backend, staged.id, () => run(backend, prepared, notes))
      const end = await finish(core, backend, prepared, first, notes)
      if (notes) notePut(notes, prepared, end)
      return end.receipt
    } catch (error) {
      notes?.fail(error)
      throw error
    } finally {
      notes?.end()
    }
  })
}

function run(
  backend: Backend,
  prepared: Prepared,
  notes: Notes | undefined,
): Promise<PutEnd | PutPrerequisite> {
  if (!notes) return backend.run(putValue, prepared)
  notes.ask()
  return backend.run(putCounted, prepared, notes)
}

function putCounted(scope: Scope, prepared: Prepared, notes: Notes): ReturnType<typeof putValue> {
  notes.attempt()
  return putValue(scope, prepared)
}

/** It has ended, and nothing is left to do. */
function isDone(end: PutEnd | PutPrerequisite): end is PutEnd {
  return isEnd(end) && end.released === undefined && end.swept === undefined
}

/** What is left to do after the transaction: parts to write first, parts not needed, contents to collect. */
async function finish(
  core: StoreCore,
  backend: Backend,
  prepared: Prepared,
  first: PutEnd | PutPrerequisite,
  notes?: Notes,
): Promise<PutEnd> {
  const body = notes ? notes.counting(putValue) : putValue
  const end = await runWithPrerequisites(backend, prepared, first, body, notes)
  if (end.released) await core.afterRelease(end.released)
  if (end.swept) await core.finishSweep(end.swept)
  if (core.lifecycle.isBounded) await core.lifecycle.makeRoom([prepared])
  return end
}
