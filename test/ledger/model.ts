/** The ledger as a plain Map: each document has its lines, the last of which is in force. */

import type { FinalStatus, LineStatus } from '../../src/ledger/index.ts'

export interface Version {
  readonly status: LineStatus
  readonly token: number
  readonly at: number
  readonly leaseUntil?: number | undefined
  readonly source?: string | undefined
  readonly run?: string | undefined
  readonly of?: string | undefined
  readonly detail?: string | undefined
}

const isDone = ({ status }: Version) => status !== 'claimed' && status !== 'failed'

export class Model {
  now = 1_000_000
  readonly documents = new Map<string, Version[]>()
  readonly runs = new Map<string, { status: 'running' | 'finished' | 'undone'; endedAt: number }>()

  top(id: string): Version | undefined {
    return this.documents.get(id)?.at(-1)
  }

  isHeld(version: Version): boolean {
    return version.status === 'claimed' && (version.leaseUntil ?? 0) > this.now
  }

  put(id: string, next: Version): void {
    const chain = this.documents.get(id) ?? []
    this.documents.set(id, [...chain.filter(({ run }) => run !== next.run), next])
  }

  claim(
    id: string,
    how: { leaseMs: number; source?: string | undefined; run?: string | undefined },
  ) {
    const top = this.top(id)
    if (top && this.isHeld(top)) return 'claimed'
    if (top && isDone(top)) return 'processed'
    const { leaseMs, source, run } = how
    const token = Math.max((top?.token ?? -1) + 1, this.now)
    const leaseUntil = this.now + leaseMs
    this.put(id, { status: 'claimed', token, at: this.now, leaseUntil, source, run })
    return token
  }

  commit(id: string, token: number, status: FinalStatus, detail?: string): 'lost' | 'ok' {
    const top = this.top(id)
    if (!top || top.token !== token) return 'lost'
    if (top.status === status) return 'ok'
    if (top.status !== 'claimed') return 'lost'
    this.put(id, { ...top, status, at: this.now, leaseUntil: undefined, detail })
    return 'ok'
  }

  renew(id: string, token: number, leaseMs: number): 'lost' | 'ok' {
    const top = this.top(id)
    if (top?.token !== token || top.status !== 'claimed') return 'lost'
    this.put(id, { ...top, leaseUntil: this.now + leaseMs })
    return 'ok'
  }

  record(id: string, line: Pick<Version, 'status' | 'source' | 'run'>): void {
    const top = this.top(id)
    this.put(id, { ...line, token: top ? top.token + 1 : 0, at: this.now })
  }

  supersede(id: string, of: string, run: string | undefined): boolean {
    const top = this.top(id)
    if (!top || !isDone(top)) return false
    this.put(id, { ...top, status: 'superseded', of, at: this.now, run: run ?? top.run })
    return true
  }

  endRun(name: string, status: 'finished' | 'undone'): void {
    if (this.runs.get(name)?.status !== status) this.runs.set(name, { status, endedAt: this.now })
  }

  forgetRun(name: string) {
    this.endRun(name, 'undone')
    const sums = { removed: 0, restored: 0, replaced: 0 }
    for (const [id, chain] of this.documents) {
      const at = chain.findIndex(({ run }) => run === name)
      if (at < 0) continue
      const top = chain.at(-1)!
      if (at < chain.length - 1) sums.replaced++
      else if (chain.length === 1) {
        this.documents.delete(id)
        sums.removed++
      } else {
        const before = chain.at(-2)!
        this.documents.set(id, [...chain.slice(0, -2), { ...before, token: top.token + 1 }])
        sums.restored++
      }
    }
    return sums
  }

  prune(before: number): { lines: number; oldLines: number; runs: number } {
    const sums = { lines: 0, oldLines: 0, runs: 0 }
    for (const [id, chain] of this.documents) {
      const top = chain.at(-1)!
      const history = chain.slice(0, -1)
      if (top.at < before && !this.isHeld(top)) {
        this.documents.delete(id)
        sums.lines++
        sums.oldLines += history.length
        continue
      }
      const cut = history.findLastIndex(({ at }) => at < before)
      this.documents.set(id, chain.slice(cut + 1))
      sums.oldLines += cut + 1
    }
    const chains = [...this.documents.values()].flat()
    for (const [name, { status, endedAt }] of this.runs) {
      if (status === 'running' || endedAt >= before) continue
      if (chains.some(({ run }) => run === name)) continue
      this.runs.delete(name)
      sums.runs++
    }
    return sums
  }

  /** Accepted ones that the target lacks are failed. */
  reconcile(has: (id: string) => boolean, detail: string): number {
    let missing = 0
    for (const id of this.documents.keys()) {
      const top = this.top(id)
      if (top?.status !== 'accepted' || has(id)) continue
      this.put(id, { ...top, status: 'failed', at: this.now, detail })
      missing++
    }
    return missing
  }
}
