/**
 * Two phases: a document is claimed, worked on, and only then committed. A claim is a lease; when it is over, anybody
 * may take the document over with a greater token, and whoever holds the smaller one is refused.
 */

import { read, type Scope, type Transaction } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  isHeld,
  isProcessed,
  isRemembered,
  type LedgerLine,
  lineCell,
  putLine,
  ledgerLine,
} from './lines.ts'
import { checkLease, documentKey, refuseUnknown, runName, shortText, sourceName } from './names.ts'
import type { FinalStatus, Line } from './rows.ts'
import { requireRunning } from './runs.ts'

export interface ClaimOptions {
  /** Milliseconds until others may take the document over. */
  readonly leaseMs: number
  /** Where the document comes from. Default: none. */
  readonly source?: string | undefined
  /** The run it is claimed for. Default: none. */
  readonly run?: string | undefined
  /** Names who claims it. Default: none. */
  readonly worker?: string | undefined
}

/** The right to work on a document, until its lease is over or another has it. */
export interface Claim {
  readonly id: string
  /** Give it to the target as well, if that can refuse older ones. */
  readonly token: number
}

export type Claimed =
  | (Claim & { readonly ok: true; readonly line: LedgerLine })
  | { readonly ok: false; readonly reason: 'processed' | 'claimed'; readonly line: LedgerLine }

export interface ClaimOutcome {
  readonly status: FinalStatus
  readonly of?: string | undefined
  readonly detail?: string | undefined
  readonly language?: string | undefined
  readonly fingerprintVersion?: string | undefined
}

export interface PreparedClaim extends ClaimOptions {
  readonly id: string
  readonly key: Buffer
  /** Lines older than this are as good as none. */
  readonly retentionMs: number
}

/** A claim that was made, with the document's key. */
export interface HeldClaim extends Claim {
  readonly key: Buffer
}

export function prepareClaim(
  id: string,
  options: ClaimOptions,
  retentionMs = Infinity,
): PreparedClaim {
  refuseUnknown(options, ['leaseMs', 'source', 'run', 'worker'])
  const { leaseMs, source, run, worker } = options
  checkLease(leaseMs)
  if (source !== undefined) sourceName(source)
  if (run !== undefined) runName(run)
  if (worker !== undefined) shortText(worker, 'A worker')
  return { leaseMs, source, run, worker, id, key: documentKey(id), retentionMs }
}

export function heldClaim({ id, token }: Claim): HeldClaim {
  if (typeof token !== 'number') {
    throw new PrestigeError('INVALID_VALUE', 'Give the claim that claim() returned, which was ok.')
  }
  return { id, token, key: documentKey(id) }
}

export function* claimLine(scope: Scope, prepared: PreparedClaim): Transaction<Claimed> {
  const { id, key, leaseMs, source, run, worker, retentionMs } = prepared
  if (run !== undefined) yield* requireRunning(run)
  const [old] = yield* read(lineCell(key))
  const at = scope.now()
  if (old && isHeld(old, at)) return { ok: false, reason: 'claimed', line: ledgerLine(old) }
  if (old && isProcessed(old) && isRemembered(old, at, retentionMs)) {
    return { ok: false, reason: 'processed', line: ledgerLine(old) }
  }
  const line: Line = {
    id,
    status: 'claimed',
    // Not below the time: a line that was forgotten meanwhile must not give out a token for the second time.
    token: Math.max((old?.token ?? -1) + 1, at),
    at,
    leaseUntil: at + Math.ceil(leaseMs),
    source,
    run,
    worker,
    of: undefined,
    detail: undefined,
    previous: undefined,
  }
  yield* putLine(scope, key, old, line)
  return { ok: true, id, token: line.token, line: ledgerLine(line) }
}

/** The work is done. Said again after a lost answer, it is the same once. */
export function* commitClaim(
  scope: Scope,
  claim: HeldClaim,
  outcome: ClaimOutcome,
): Transaction<LedgerLine> {
  const { key, token } = claim
  const { status, of, detail, language, fingerprintVersion } = outcome
  const [old] = yield* read(lineCell(key))
  if (old?.token !== token) throw lost(claim)
  if (old.status === status) return ledgerLine(old)
  if (old.status !== 'claimed') throw lost(claim)
  const at = scope.now()
  const ended = { status, at, leaseUntil: undefined, of, detail, language, fingerprintVersion }
  const line: Line = { ...old, ...ended }
  yield* putLine(scope, key, old, line)
  return ledgerLine(line)
}

/** The lease goes on from now. */
export function* renewClaim(
  scope: Scope,
  claim: HeldClaim,
  leaseMs: number,
): Transaction<LedgerLine> {
  const { key, token } = claim
  const [old] = yield* read(lineCell(key))
  if (old?.token !== token || old.status !== 'claimed') throw lost(claim)
  const line: Line = { ...old, leaseUntil: scope.now() + Math.ceil(leaseMs) }
  scope.write(lineCell(key), line)
  return ledgerLine(line)
}

function lost({ id }: Claim): PrestigeError {
  return new PrestigeError(
    'CLAIM_LOST',
    `The claim on ${JSON.stringify(id.slice(0, 100))} is lost: its lease was over and another took it, or the line was written otherwise. Nothing was committed.`,
  )
}
