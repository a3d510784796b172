/** Work under a claim: renewed while it goes on, committed when it has ended, given up when it fails. */

import { PrestigeError } from '../platform/errors.ts'
import type { Claim, Claimed, ClaimOptions, ClaimOutcome } from './claims.ts'
import type { LedgerLine } from './lines.ts'

export interface ClaimedWork extends Claim {
  /** Aborted when the claim is lost: work done after that has no effect. */
  readonly signal: AbortSignal
}

export type WithClaimResult =
  | { readonly ok: true; readonly line: LedgerLine }
  | Extract<Claimed, { readonly ok: false }>

export interface Claims {
  claim(id: string, options: ClaimOptions): Promise<Claimed>
  commit(claim: Claim, outcome: ClaimOutcome): Promise<LedgerLine>
  abort(claim: Claim, why: { readonly reason: string }): Promise<LedgerLine>
  renew(claim: Claim, leaseMs: number): Promise<LedgerLine>
}

const TIMER_MS_MAX = 2 ** 31 - 1
const REASON_MAX = 1000

export async function withClaim(
  claims: Claims,
  id: string,
  options: ClaimOptions,
  work: (claimed: ClaimedWork) => Promise<ClaimOutcome | void>,
): Promise<WithClaimResult> {
  const claimed = await claims.claim(id, options)
  if (!claimed.ok) return claimed
  const renewal = new Renewal(claims, claimed, options.leaseMs)
  let outcome: ClaimOutcome
  try {
    outcome = (await work({ ...claimed, signal: renewal.signal })) ?? { status: 'accepted' }
  } catch (error) {
    await renewal.stop()
    await giveUp(claims, claimed, error)
    throw error
  }
  await renewal.stop()
  return { ok: true, line: await claims.commit(claimed, outcome) }
}

/** What the work threw is what is reported; that the claim cannot be given up as well only makes others wait. */
async function giveUp(claims: Claims, claim: Claim, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error)
  const reason = message.slice(0, REASON_MAX).toWellFormed()
  await claims.abort(claim, { reason }).catch(() => {})
}

class Renewal {
  readonly #abort = new AbortController()
  readonly #timer: NodeJS.Timeout
  #underWay: Promise<unknown> = Promise.resolve()

  constructor(claims: Claims, claim: Claim, leaseMs: number) {
    const everyMs = Math.min(TIMER_MS_MAX, Math.max(1, leaseMs / 3))
    this.#timer = setInterval(() => {
      this.#underWay = this.#underWay.then(() => this.#renew(claims, claim, leaseMs))
    }, everyMs)
    this.#timer.unref()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** A renewal that fails otherwise is tried again by the next one; the commit decides in the end. */
  async #renew(claims: Claims, claim: Claim, leaseMs: number): Promise<void> {
    try {
      if (!this.#abort.signal.aborted) await claims.renew(claim, leaseMs)
    } catch (error) {
      if (error instanceof PrestigeError && error.code === 'CLAIM_LOST') this.#abort.abort(error)
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#underWay
  }
}
