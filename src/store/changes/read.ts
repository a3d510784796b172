/**
 * Reading the feed, page by page. Every page is read at one moment together with what was trimmed by then: a change that
 * is not kept any more is an error for whoever has not seen it, and never left out.
 */

import { asBuffer, type Bytes, equalBytes, startsWith } from '../../platform/bytes.ts'
import { abortedError } from '../../platform/deadline.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { cell, glance, read, type ReadScope, type Transaction } from '../../backends/index.ts'
import { sequenceKey } from '../../match/index.ts'
import type { StoreCore } from '../core.ts'
import { checkedLimit } from '../list.ts'
import { keyBytes, refuseUnknown, type StoreKey } from '../prepare.ts'
import { hex } from '../receipt.ts'
import type { ContentOutcome } from '../rows.ts'
import type { ChangeFeed } from './feed.ts'
import {
  type ChangePosition,
  type ChangeRow,
  changeJournal,
  cursorOf,
  FEED_OFF,
  isAt,
  LAST_CHANGE,
  LAST_TRIMMED,
  PENDING,
  positionOf,
  type RecordedKind,
} from './rows.ts'

export interface ChangesOptions {
  /** Only changes after this one: its cursor. Default: the oldest that is kept. */
  readonly after?: string | undefined
  /** Only changes of keys that start so. */
  readonly prefix?: StoreKey | undefined
  /** At most so many changes. Default: all. */
  readonly limit?: number | undefined
  /** Wait for further changes, until the signal is aborted or the store is closed. Default: `false`. */
  readonly follow?: boolean | undefined
  /** With `follow`: how often to look for changes of other processes, in milliseconds. Default: 500. */
  readonly pollMs?: number | undefined
  /**
   * Called with a cursor when everything up to it was given or does not match: newer than that of the last change where
   * most do not have the prefix. Kept instead of it, it does not expire while the reader keeps up.
   */
  readonly onCursor?: ((cursor: string) => void) | undefined
  /** Ends the iteration: with `follow` as if nothing was left, otherwise with `ABORTED`. */
  readonly signal?: AbortSignal | undefined
}

/** One change of one key. */
export interface StoreChange {
  /** Where this change is: give it as `after` to go on behind it. */
  readonly cursor: string
  /** The same for all changes of one transaction, which come one after another. It ascends. */
  readonly transaction: number
  /**
   * `put`: the key has this value from now on. `link`: the same, and the value is linked to one that it is like.
   * `delete`: it was deleted. `evict`: it was evicted or pruned. `expire`: it had expired, and was removed.
   */
  readonly kind: 'put' | 'link' | 'delete' | 'evict' | 'expire'
  readonly key: Buffer
  /** Of the store, where it has one. */
  readonly namespace?: string
  /** SHA-256 of the bytes that the key has from now on, or had until now, in hex. */
  readonly digest: string
  /** Length of these bytes. */
  readonly bytes: number
  /** Milliseconds since 1970, by the clock of the process that made the change. */
  readonly at: number
  /** Of a put or a link: whether the value was seen before. */
  readonly content?: ContentOutcome
  /** Of a put or a link that replaced another value: the SHA-256 of that, in hex. */
  readonly replaced?: string
}

const OPTIONS = ['after', 'prefix', 'limit', 'follow', 'pollMs', 'onCursor', 'signal']
/** Some engines can read a hundred cells at one moment. */
const PAGE = 90
const POLL_MS = 500

export async function* changesOf(
  core: StoreCore,
  options: ChangesOptions,
): AsyncGenerator<StoreChange> {
  refuseUnknown(options, OPTIONS)
  const { follow = false, signal } = options
  const pollMs = checkedPoll(options.pollMs)
  const feed = requireFeed(core)
  const named = core.namespace === '' ? {} : { namespace: core.namespace }
  const prefix = options.prefix === undefined ? undefined : prefixOf(options.prefix)
  let left = checkedLimit(options.limit)
  let after = options.after === undefined ? undefined : positionOf(options.after)
  let until = follow ? Infinity : undefined
  while (left > 0) {
    if (signal?.aborted && follow) return
    if (signal?.aborted) throw abortedError('Reading changes', 'not-done', signal.reason)
    const { commits } = feed
    const page = await pageOf(core, feed, after, follow)
    if (!page) return
    until ??= page.last.sequence
    for (const change of page.changes) {
      if (change.position.sequence > until) break
      after = change.position
      if (prefix && !startsWith(change.row.key, prefix)) continue
      yield { ...shown(change), ...named }
      if (--left <= 0 || (follow && signal?.aborted)) return
    }
    after ??= page.start
    if (page.changes.length > 0) options.onCursor?.(cursorOf(after))
    if (after.sequence >= until) return
    if (after.sequence >= page.last.sequence && !(await feed.wait(commits, pollMs, signal))) return
  }
}

/** Of the last change: what is committed later comes after it. */
export async function lastCursor(core: StoreCore): Promise<string> {
  requireFeed(core)
  return cursorOf(await core.gate.pass(() => core.backend.read(findLast)))
}

function requireFeed(core: StoreCore): ChangeFeed {
  const { changes } = core.preparation.keeping
  if (!changes) throw feedOff()
  return changes
}

/** `off`: what `FEED_OFF` has. */
function feedOff(off?: Bytes): PrestigeError {
  const isPending = off && equalBytes(off, PENDING)
  const message = isPending
    ? 'The feed of changes of this store is being turned on, or that was interrupted. Open it with changes: true (prestige changes on) to complete that, or with changes: false (prestige changes off) to cancel it.'
    : 'This store records no changes. Open it with changes: true (prestige changes on) to record them from then on.'
  return new PrestigeError('CHANGES_OFF', message)
}

/** `undefined`: the store was closed meanwhile. */
async function pageOf(
  core: StoreCore,
  feed: ChangeFeed,
  after: ChangePosition | undefined,
  follow: boolean,
): Promise<Page | undefined> {
  if (follow && feed.isEnded) return undefined
  return core.gate.pass(() => core.backend.read(readPage, after))
}

interface PlacedChange {
  readonly position: ChangePosition
  readonly row: ChangeRow
}

interface Page {
  readonly changes: readonly PlacedChange[]
  /** Before the first of them. */
  readonly start: ChangePosition
  /** Of the last change of all. */
  readonly last: ChangePosition
}

function* findLast(_scope: ReadScope): Transaction<ChangePosition> {
  const [last, off] = yield* read(LAST_CHANGE, FEED_OFF)
  if (!last || off) throw feedOff(off)
  return last
}

/**
 * What was trimmed is relied on, so the rows behind it are there as long as this stands. The last change is not: others
 * may follow it at any time.
 */
function* readPage(scope: ReadScope, after: ChangePosition | undefined): Transaction<Page> {
  const [last, trimmed, off] = yield* glance(LAST_CHANGE, LAST_TRIMMED, FEED_OFF)
  scope.rely(LAST_TRIMMED, FEED_OFF)
  if (!last || !trimmed || off) throw feedOff(off)
  const start = after ?? trimmed
  if (start.sequence < trimmed.sequence) throw expired(start)
  const count = Math.max(0, Math.min(PAGE, last.sequence - start.sequence))
  const cells = Array.from({ length: count + 1 }, (_, at) =>
    cell(changeJournal, sequenceKey(start.sequence + at)),
  )
  const [own, ...rows] = yield* glance(...cells)
  const nonce = start.sequence === trimmed.sequence ? trimmed.nonce : own?.nonce
  const isWhole = isAt(start, nonce) && rows.every((row) => row !== undefined)
  // Only glanced at, they may be of a moment before the last change: what is wrong is looked at again.
  if (!isWhole) scope.rely(...cells)
  if (!isAt(start, nonce)) throw unknown(start)
  const changes = rows.map((row, at): PlacedChange => {
    const sequence = start.sequence + 1 + at
    if (row) return { position: { sequence, nonce: row.nonce }, row }
    const message = `Change ${sequence} of the feed is missing. Run prestige verify --repair on this store.`
    throw new PrestigeError('CONTENT_CORRUPT', message)
  })
  return { changes, start, last }
}

const SHOWN: Readonly<Record<RecordedKind, Pick<StoreChange, 'kind' | 'content'>>> = {
  'put-new': { kind: 'put', content: 'new' },
  'put-duplicate': { kind: 'put', content: 'duplicate' },
  link: { kind: 'link', content: 'linked' },
  delete: { kind: 'delete' },
  evict: { kind: 'evict' },
  expire: { kind: 'expire' },
}

function shown({ position, row }: PlacedChange): StoreChange {
  const { transaction, kind, key, digest, bytes, at, previous } = row
  return {
    cursor: cursorOf(position),
    transaction,
    ...SHOWN[kind],
    key: asBuffer(key),
    digest: hex(digest),
    bytes,
    at,
    ...(previous && { replaced: hex(previous) }),
  }
}

function prefixOf(prefix: StoreKey): Buffer | undefined {
  return prefix.length === 0 ? undefined : keyBytes(prefix)
}

function checkedPoll(pollMs = POLL_MS): number {
  if (Number.isFinite(pollMs) && pollMs >= 1) return pollMs
  const message = `pollMs is a number of milliseconds from 1 on, not ${String(pollMs)}.`
  throw new PrestigeError('INVALID_OPTIONS', message)
}

function expired(position: ChangePosition): PrestigeError {
  return new PrestigeError(
    'CURSOR_EXPIRED',
    `Changes after cursor ${position.sequence} are not kept any more. Read all keys again, and go on from changesCursor() as it was before; keep changes for longer with changes: { retentionMs, maxChanges }.`,
  )
}

function unknown(position: ChangePosition): PrestigeError {
  return new PrestigeError(
    'CURSOR_UNKNOWN',
    `Cursor ${position.sequence} is not of this store, or of a time before its feed was reset or restored. Read all keys again, and go on from changesCursor() as it was before.`,
  )
}
