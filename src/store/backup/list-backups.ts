/** Which backups a place holds, and which of them to forget. */

import { latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { refuseUnknown } from '../prepare.ts'
import { keysOf } from './listing.ts'
import { ObjectReader } from './object-reader.ts'
import { type ObjectIndex, placesOf } from './objects.ts'
import { isUnderWay, Running } from './running.ts'
import { BackupTarget, type Manifest } from './target.ts'

/** A backup as a listing shows it. */
export type BackupInfo = Pick<
  Manifest,
  'id' | 'at' | 'namespace' | 'isOneMoment' | 'keys' | 'valueBytes'
>

/** The newest last. */
export async function listBackups(source: string): Promise<BackupInfo[]> {
  const target = await BackupTarget.open(source)
  const found: BackupInfo[] = []
  for (const name of await target.backupIds()) {
    const { id, at, namespace, isOneMoment, keys, valueBytes } = await target.readBackup(name)
    found.push({ id, at, namespace, isOneMoment, keys, valueBytes })
  }
  return found
}

export interface ForgetOptions {
  /** How many of the newest backups stay, of each namespace of each store. */
  readonly keepLast: number
  /** Ends it, and its reason is thrown. Default: none. */
  readonly signal?: AbortSignal | undefined
}

export interface ForgottenBackups {
  /** Ids of the backups that were removed. */
  readonly removed: readonly string[]
  readonly kept: number
  /** Packs that no backup needs any more, and their bytes. Those of the last day stay: a backup may be using them. */
  readonly packs: number
  readonly packBytes: number
  /** A backup is being made, which may be using any pack: all of them stay, until this is called again. */
  readonly isBackupRunning: boolean
}

/** Removes all but the newest backups, and the packs that nothing else needs. */
export async function forgetBackups(
  source: string,
  options: ForgetOptions,
): Promise<ForgottenBackups> {
  refuseUnknown(options, ['keepLast', 'signal'])
  const { keepLast, signal } = options
  if (!Number.isInteger(keepLast) || keepLast < 1) {
    const message = `keepLast is a whole number from 1 on, not ${JSON.stringify(keepLast)}.`
    throw new PrestigeError('INVALID_OPTIONS', message)
  }
  const target = await BackupTarget.open(source)
  await using _running = await Running.begin(target, 'forget')
  const isBackupRunning = await isUnderWay(target, 'backup')
  const objects = await target.readIndexes()
  const { kept, removed } = await chosen(target, keepLast)
  // Before anything is removed: a backup that stays and cannot be read is an error, not a reason to remove its packs.
  const needed = await neededObjects(target, objects, kept, signal)
  for (const id of removed) await target.removeBackup(id)
  if (isBackupRunning)
    return { removed, kept: kept.length, packs: 0, packBytes: 0, isBackupRunning }
  const unused = objects.packs.filter(
    (pack) => ![...placesOf(pack)].some(({ digest }) => needed.has(latin1(digest))),
  )
  let packs = 0
  let packBytes = 0
  for (const { id, packBytes: bytes } of unused) {
    signal?.throwIfAborted()
    if (await target.isRecent(id)) continue
    await target.removePack(id)
    packs++
    packBytes += bytes
  }
  return { removed, kept: kept.length, packs, packBytes, isBackupRunning }
}

/** The newest of each namespace of each store stay. What does not say which store it is of is of the only one there is. */
async function chosen(
  target: BackupTarget,
  keepLast: number,
): Promise<{ readonly kept: string[]; readonly removed: string[] }> {
  const ids = await target.backupIds()
  const manifests: Pick<Manifest, 'id' | 'namespace' | 'store'>[] = []
  for (const id of ids) manifests.push(await target.readBackup(id))
  const stores = new Set(manifests.flatMap(({ store }) => (store === undefined ? [] : [store])))
  const [only] = stores.size === 1 ? stores : []
  const counts = new Map<string, number>()
  const kept: string[] = []
  for (const { id, namespace, store = only } of manifests.toReversed()) {
    const name = JSON.stringify([namespace, store])
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    if (count < keepLast) kept.unshift(id)
  }
  const stays = new Set(kept)
  return { kept, removed: ids.filter((id) => !stays.has(id)) }
}

/** Everything that some backups refer to, by digests as latin1. */
export async function neededObjects(
  target: BackupTarget,
  objects: ObjectIndex,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<Set<string>> {
  const reader = new ObjectReader(target, objects)
  const needed = new Set<string>()
  const need = async (digest: Buffer) => {
    if (needed.has(latin1(digest))) return false
    needed.add(latin1(digest))
    for (const part of await reader.partsOf(digest)) needed.add(latin1(part))
    return true
  }
  for (const id of ids) {
    for (const piece of (await target.readBackup(id)).listing) {
      signal?.throwIfAborted()
      const digest = Buffer.from(piece, 'hex')
      // Keys of an object that was seen were seen with it.
      if (!(await need(digest))) continue
      for (const { digest: value } of keysOf(await reader.read(digest))) await need(value)
    }
  }
  return needed
}
