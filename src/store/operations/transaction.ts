/** Several keys at once: puts, deletes and checks of which all are done, or none. */

import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { CALL_OPTIONS, type CallOptions } from '../call-options.ts'
import { removeParts } from '../collect.ts'
import type { StoreCore } from '../core.ts'
import {
  KEEP_OPTIONS,
  type KeepOptions,
  keyBytes,
  prepare,
  refuseUnknown,
  type StoreKey,
  type StoreValue,
} from '../prepare.ts'
import type { Receipt } from '../receipt.ts'
import { conditionOf, type ConditionOptions, type MatchOptions } from '../transactions/condition.ts'
import { cleanUp, Looking, withPrerequisite } from '../transactions/prerequisites.ts'
import type { Prepared, PutEnd } from '../transactions/put.ts'
import type { RemoveEnd } from '../transactions/remove.ts'
import { keyOf, Needed, runSeveral, type SeveralEnd, type Step } from '../transactions/several.ts'
import { stage } from '../transactions/staging.ts'
import { bounded, type Bounds } from './bounded.ts'

/** One operation of a transaction. Each has another key. */
export type TransactionOperation =
  /** Keeps the value under the key. */
  | ({ readonly put: StoreKey; readonly value: StoreValue } & KeepOptions)
  /** Deletes the key, if it is there. */
  | ({ readonly delete: StoreKey } & MatchOptions)
  /** Changes nothing, and makes the whole transaction fail unless the condition is met. */
  | ({ readonly check: StoreKey } & ConditionOptions)

/** Of a put its receipt, of a delete or a check whether the key was there. */
export type TransactionResults<O extends readonly TransactionOperation[]> = {
  -readonly [I in keyof O]: O[I] extends { readonly put: StoreKey } ? Receipt : boolean
}

const BOUNDS: Bounds = {
  what: 'The transaction',
  isDecisive: (end) => typeof end === 'object' && end !== null && 'ends' in end,
}
/** Each has a commit of somebody else for its reason, or is one long value. */
const ROUNDS_MAX = 1000
/** Shorter values are not worth a row of their own beforehand. */
const STAGED_BYTES_MIN = 4096

export async function transaction(
  core: StoreCore,
  operations: readonly TransactionOperation[],
  options: CallOptions = {},
): Promise<(Receipt | boolean)[]> {
  refuseUnknown(options, CALL_OPTIONS)
  if (!Array.isArray(operations)) throw refused('A transaction is a list of operations.')
  return bounded(core.backend, options, BOUNDS, (backend) =>
    core.gate.pass(async () => {
      if (core.isOld) await core.raise()
      const steps = await stepsOf(core, operations)
      if (steps.length === 0) return []
      const { ends } = await run(core, backend, steps).catch((error) => {
        core.invalidate(error)
        throw error
      })
      await finish(core, steps, ends)
      return ends.map(resultOf)
    }),
  )
}

function resultOf(end: PutEnd | RemoveEnd | boolean): Receipt | boolean {
  if (typeof end === 'boolean') return end
  return 'receipt' in end ? end.receipt : end.existed
}

/** What is left to do after the transaction, as after single puts and deletes. */
async function finish(
  core: StoreCore,
  steps: readonly Step[],
  ends: SeveralEnd['ends'],
): Promise<void> {
  for (const end of ends) {
    if (typeof end === 'boolean') continue
    if (end.released) await core.afterRelease(end.released)
    if (end.swept) await core.finishSweep(end.swept)
  }
  if (!core.lifecycle.isBounded) return
  const puts = steps.flatMap((step) => (step.kind === 'put' ? [step.put] : []))
  if (puts.length > 0) await core.lifecycle.makeRoom(puts)
}

async function stepsOf(
  core: StoreCore,
  operations: readonly TransactionOperation[],
): Promise<Step[]> {
  const steps: Step[] = []
  const keys = new Set<string>()
  const digests = new Set<string>()
  for (const operation of operations) {
    const step = await stepOf(core, operation)
    const name = Buffer.from(keyOf(step)).toString('latin1')
    if (keys.has(name)) throw refused(`Two operations have the key ${shown(step)}. Give one a key.`)
    keys.add(name)
    steps.push(step.kind === 'put' ? { ...step, put: onceChecked(step.put, digests) } : step)
  }
  if (core.preparation.keeping.near ?? core.preparation.keeping.semantic) requireOnePut(steps)
  return steps
}

/** What a put before it in the transaction has made sure of, or written, need not be looked at again. */
function onceChecked(prepared: Prepared, digests: Set<string>): Prepared {
  const name = prepared.digest.toString('latin1')
  if (digests.has(name)) return { ...prepared, check: undefined }
  digests.add(name)
  return prepared
}

/** Texts are compared with what is committed, so two of one transaction could not find each other. */
function requireOnePut(steps: readonly Step[]): void {
  if (steps.filter(({ kind }) => kind === 'put').length <= 1) return
  throw refused(
    'In a store that compares texts (dedup near, semantic or hybrid) a transaction has at most one put.',
  )
}

async function stepOf(core: StoreCore, operation: TransactionOperation): Promise<Step> {
  const { gc, keeping } = core.preparation
  if (typeof operation !== 'object' || operation === null) {
    throw refused('An operation is an object with put, delete or check.')
  }
  if ('put' in operation) {
    const { put, value, ...keep } = operation
    refuseUnknown(keep, KEEP_OPTIONS)
    const prepared = await prepare(core.preparation, put, value, keep)
    if (prepared.sliding || prepared.metadata) await core.announce(prepared)
    return { kind: 'put', put: prepared }
  }
  if ('delete' in operation) {
    const { delete: key, ...match } = operation
    refuseUnknown(match, ['ifMatch'])
    const removal = { key: keyBytes(key), gc, keeping, condition: conditionOf(match) }
    return { kind: 'remove', removal }
  }
  if (!('check' in operation)) throw refused('An operation has put, delete or check.')
  const { check, ...wanted } = operation
  refuseUnknown(wanted, ['ifAbsent', 'ifMatch'])
  const condition = conditionOf(wanted)
  if (condition === undefined) throw refused('A check needs ifAbsent: true, or ifMatch.')
  return { kind: 'check', key: keyBytes(check), condition }
}

/** Does what a put of it needs first, and runs it again, until it has ended. */
async function run(core: StoreCore, backend: Backend, steps: readonly Step[]): Promise<SeveralEnd> {
  const ready = [...steps]
  const looking = new Looking(core.preparation.keeping.semantic, undefined)
  let ends: SeveralEnd['ends'] = []
  try {
    await stageMuch(backend, ready)
    for (let rounds = 0; rounds <= ROUNDS_MAX; rounds++) {
      const end = await attempt(backend, ready)
      if (!(end instanceof Needed)) {
        ends = end.ends
        return end
      }
      const step = ready[end.at]
      if (step?.kind !== 'put') continue
      const put = await withPrerequisite(backend, step.put, end.prerequisite, looking)
      ready[end.at] = { kind: 'put', put }
    }
    const message = 'What this transaction puts was changed by others every time. Try again.'
    throw new PrestigeError('CONTENDED', message)
  } finally {
    looking.end()
    for (const [at, step] of ready.entries()) {
      const id = step.kind === 'put' ? step.put.staged : undefined
      const end = ends[at]
      const isUsed = typeof end === 'object' && 'receipt' in end && !end.stagedUnused
      if (id && !isUsed) await cleanUp(() => removeParts(backend, id))
    }
  }
}

async function attempt(backend: Backend, steps: readonly Step[]): Promise<SeveralEnd | Needed> {
  try {
    return await backend.run(runSeveral, steps)
  } catch (error) {
    if (error instanceof Needed) return error
    if (!(error instanceof PrestigeError) || error.code !== 'BODY_MISUSE') throw error
    const message = `${steps.length} operations are too many for one transaction here. ${error.message} Make it of fewer operations.`
    throw new PrestigeError('INVALID_OPTIONS', message, { cause: error })
  }
}

/** Where a transaction can write only so much, values that are too long together are written beforehand. */
async function stageMuch(backend: Backend, steps: Step[]): Promise<void> {
  const { transactionBytesMax = Infinity } = backend.limits
  let bytes = 0
  for (const step of steps) if (step.kind === 'put') bytes += step.put.value.byteLength
  if (bytes <= transactionBytesMax / 2) return
  const digests = new Set<string>()
  for (const [at, step] of steps.entries()) {
    if (step.kind !== 'put' || step.put.value.byteLength < STAGED_BYTES_MIN) continue
    const name = step.put.digest.toString('latin1')
    if (!digests.has(name)) steps[at] = { kind: 'put', put: await stage(backend, step.put) }
    digests.add(name)
  }
}

function shown(step: Step): string {
  return JSON.stringify(Buffer.from(keyOf(step)).toString('utf8'))
}

function refused(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}
