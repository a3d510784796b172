/**
 * Whether a store records changes: kept in its settings, so that everybody who opens it does.
 *
 * Whoever has a store open without a feed would go on without recording. So a feed begins with the store, or while
 * nobody else has it open, which only an engine with a file can find out. It may be turned off at any time: whoever still
 * reads it then gets an error.
 *
 * Turning it on takes three steps: everybody who opens the store from now on records changes, but nobody may read them
 * (`pending`); nobody else has the store open; the feed begins. Where this is interrupted, it stays pending.
 */

import * as v from 'valibot'

import { EMPTY, equalBytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Backend,
  type EngineFile,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { FEED_OFF, LAST_CHANGE, LAST_TRIMMED, PENDING } from './rows.ts'

export const CHANGES_MAX = 1_000_000
export const RETENTION_MS: number = 7 * 24 * 60 * 60 * 1000

/** How long changes are kept. Whatever exceeds one of them goes when the store is collected. */
export interface ChangeFeedOptions {
  /** Milliseconds that a change is kept. Default: 604,800,000, a week. */
  readonly retentionMs?: number | undefined
  /** The most changes that are kept. Default: 1,000,000. */
  readonly maxChanges?: number | undefined
}

export type ChangeSettings = ChangeFeedOptions

function whole(help: string): v.GenericSchema<number> {
  const rule = 'must be a whole number from 1'
  return v.pipe(v.number(rule), v.safeInteger(rule), v.minValue(1, rule), v.description(help))
}

export const changesOption: v.GenericSchema<boolean | ChangeFeedOptions> = v.union(
  [
    v.boolean(),
    v.strictObject({
      retentionMs: v.optional(whole('Milliseconds that a change is kept (604800000).')),
      maxChanges: v.optional(whole('The most changes that are kept (1000000).')),
    }),
  ],
  'must be true, false or { retentionMs, maxChanges }',
)

/** What a store has, changed by what is asked for. `undefined`: no feed. */
export function wantedChanges(
  there: ChangeSettings | undefined,
  asked: boolean | ChangeFeedOptions | undefined,
): ChangeSettings | undefined {
  if (asked === undefined) return there
  if (asked === false) return undefined
  const { retentionMs = there?.retentionMs, maxChanges = there?.maxChanges } =
    asked === true ? {} : asked
  return {
    ...(retentionMs !== undefined && { retentionMs }),
    ...(maxChanges !== undefined && { maxChanges }),
  }
}

export function isSameFeed(
  one: ChangeSettings | undefined,
  other: ChangeSettings | undefined,
): boolean {
  if (!one || !other) return one === other
  return one.retentionMs === other.retentionMs && one.maxChanges === other.maxChanges
}

/** Numbers go on where they ended, behind a gap: cursors from before are refused. */
export function* beginFeed(scope: Scope): Transaction<void> {
  yield* resetFeed(scope)
  scope.remove(FEED_OFF)
}

/** Changes are recorded, and cannot be read. */
export function* prepareFeed(scope: Scope): Transaction<void> {
  yield* resetFeed(scope)
  scope.write(FEED_OFF, PENDING)
}

export function* endFeed(scope: Scope): Transaction<void> {
  yield* resetFeed(scope)
  scope.write(FEED_OFF, EMPTY)
}

export function* isPending(_scope: ReadScope): Transaction<boolean> {
  const [off] = yield* read(FEED_OFF)
  return off !== undefined && equalBytes(off, PENDING)
}

function* resetFeed(scope: Scope): Transaction<void> {
  const [last] = yield* read(LAST_CHANGE)
  const position = { sequence: last ? last.sequence + 1 : 0, nonce: scope.id() }
  scope.write(LAST_CHANGE, position)
  scope.write(LAST_TRIMMED, position)
}

/** Who has opened a store without a feed can only be found out where there is a file. */
export function requireFile({ file }: Backend): EngineFile {
  if (file) return file
  throw new PrestigeError(
    'INVALID_OPTIONS',
    'Changes of this store can only be recorded from its creation on, because others may have it open without recording any. Make a new store with changes: true, and put everything into it (prestige export --archive, prestige import --archive).',
  )
}

export async function requireAlone(file: EngineFile): Promise<void> {
  if (!(await file.isShared())) return
  throw new PrestigeError(
    'CONTENDED',
    'Others may have this store open, or be backing it up, and would go on without recording changes. The feed was not turned on. Close the store everywhere else, then open it with changes: true again. (Whether others have a directory open can only be found out on Linux; elsewhere make a new store.)',
  )
}
