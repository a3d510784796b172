/**
 * A bounded store as a plain Map: which keys are there, when they were used, and which of them may go. Uses are recorded
 * as precisely as `recencyMs`, so of two keys whose uses are nearer than that, either may be evicted first.
 */

export interface Kept {
  value: string
  putAt: number
  usedAt: number
  /** Infinity: never. */
  expiresAt: number
  slidingMs: number | undefined
  isPinned: boolean
}

export class LifecycleModel {
  readonly rows = new Map<string, Kept>()
  readonly recencyMs: number

  constructor(recencyMs: number) {
    this.recencyMs = recencyMs
  }

  live(key: string, now: number): Kept | undefined {
    const kept = this.rows.get(key)
    return kept && kept.expiresAt > now ? kept : undefined
  }

  put(
    key: string,
    value: string,
    { ttlMs, sliding }: { ttlMs?: number | undefined; sliding?: boolean | undefined },
    now: number,
  ): void {
    const old = this.live(key, now)
    const expiresAt = ttlMs === undefined ? Infinity : now + ttlMs
    const isSame = old?.value === value && old.expiresAt === Infinity && expiresAt === Infinity
    this.rows.set(key, {
      value,
      putAt: isSame ? old.putAt : now,
      usedAt: now,
      expiresAt,
      slidingMs: sliding ? ttlMs : undefined,
      isPinned: old?.isPinned ?? false,
    })
  }

  get(key: string, now: number): string | undefined {
    const kept = this.live(key, now)
    if (!kept) return undefined
    kept.usedAt = now
    const { slidingMs, expiresAt } = kept
    if (slidingMs !== undefined && now - (expiresAt - slidingMs) >= slidingMs / 8) {
      kept.expiresAt = now + slidingMs
    }
    return kept.value
  }

  /** The bytes of distinct values. */
  bytes(): number {
    const values = new Set([...this.rows.values()].map(({ value }) => value))
    return [...values].reduce((sum, value) => sum + Buffer.byteLength(value), 0)
  }

  collect(now: number): void {
    for (const [key, { expiresAt }] of this.rows) if (expiresAt <= now) this.rows.delete(key)
  }

  /** Takes away what is not there any more. Throws if one went although another was used longer ago. */
  evicted(there: ReadonlySet<string>, now: number, spared?: string): string[] {
    const gone = [...this.rows].filter(([key]) => !there.has(key))
    for (const [key, { usedAt, isPinned, expiresAt }] of gone) {
      this.rows.delete(key)
      if (expiresAt <= now) continue
      if (isPinned) throw new Error(`${key} was evicted although it is pinned`)
      if (key === spared) throw new Error(`${key} was evicted although it was just put`)
      for (const [other, kept] of this.rows) {
        if (!there.has(other) || other === spared || kept.isPinned) continue
        const isOlder =
          this.recencyMs === 0 ? kept.usedAt < usedAt : kept.usedAt + this.recencyMs <= usedAt
        if (isOlder && kept.expiresAt > now) throw new Error(`${key} went before ${other}`)
      }
    }
    return gone.filter(([, { expiresAt }]) => expiresAt > now).map(([key]) => key)
  }

  /** `undefined`: it may go or stay, because uses are recorded coarsely. */
  isPruned(
    kept: Kept,
    {
      olderThanMs,
      idleForMs,
    }: { olderThanMs?: number | undefined; idleForMs?: number | undefined },
    now: number,
  ): boolean | undefined {
    if (kept.isPinned) return false
    if (olderThanMs !== undefined && kept.putAt > now - olderThanMs) return false
    if (idleForMs === undefined || kept.usedAt <= now - idleForMs) return true
    return kept.usedAt - this.recencyMs >= now - idleForMs || this.recencyMs === 0
      ? false
      : undefined
  }
}
