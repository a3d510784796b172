/**
 * The place where backups are kept: a directory, or a prefix on S3. It may hold any number of them, of any number of
 * stores; what they have in common is there once.
 *
 * prestige-backup.json           that it is such a place, and the format of everything in it
 * packs/ID.pack, packs/ID.index  objects, and where they are (objects.ts)
 * backups/ID.json                a backup: a line of JSON (Manifest), and a line with the SHA-256 of that
 * running/WORK-ID                who is at work there (running.ts)
 *
 * Invariant: a file is there whole or not at all, and is never changed, but for those in running/. A backup is written after everything that it
 * needs, so one that was cut off is not there; its packs are used by the next one.
 */

import { createHash } from 'node:crypto'

import { digestOf } from '../../fingerprint/index.ts'
import { removeAbandonedIn, writeWhole } from '../../platform/atomic-file.ts'
import { codeOf, PrestigeError } from '../../platform/errors.ts'
import { readdir, readFile, rm, stat } from '../../platform/files.ts'
import { join, resolve } from '../../platform/paths.ts'
import { isS3 } from '../../platform/s3/address.ts'
import type { StoreSettings } from '../settings.ts'
import { brokenBackup, ObjectIndex, type PackIndex, readIndex } from './objects.ts'

const FORMAT = 1
/** Of backups with more in their lists of keys (listing.ts), which versions that cannot read it must not restore without. */
const FORMAT_WITH_METADATA = 2
const FORMAT_WITH_LIFE = 3
const MARK = 'prestige-backup.json'
const INDEXES_AT_ONCE = 16
const DAY_MS = 24 * 60 * 60 * 1000
/** A mark that was not renewed for so long is of a process that has died. */
const MARK_MS = 10 * 60 * 1000
const BACKUP_ID = /^[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}$/

/** What is kept of one backup. */
export interface Manifest {
  readonly format: number
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly namespace: string
  /** Which store it is of (identity.ts). Absent in backups of earlier versions, and of stores that were only read. */
  readonly store?: string | undefined
  /** What the store was created with. */
  readonly settings: StoreSettings
  /** All keys are as they were at one moment. Otherwise each is as it was at some moment of the backup. */
  readonly isOneMoment: boolean
  readonly keys: number
  readonly valueBytes: number
  /** SHA-256 of the objects that list the keys (listing.ts), in hex. */
  readonly listing: readonly string[]
}

export class BackupTarget {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  /** One that is there. */
  static async open(path: string): Promise<BackupTarget> {
    const target = new BackupTarget(resolve(requirePath(path)))
    if (await target.#isMarked()) return target
    throw new PrestigeError(
      'BACKUP_NOT_FOUND',
      `There are no backups at ${path}. Make one with store.backup or prestige backup, or check the path.`,
    )
  }

  /** One that is made where there is nothing. */
  static async make(path: string): Promise<BackupTarget> {
    const target = new BackupTarget(resolve(requirePath(path)))
    if (await target.#isMarked()) return target
    const found = await namesIn(target.path)
    if (found.some((name) => !name.startsWith(MARK))) throw notEmpty(path)
    await writeWhole(target.#at(MARK), [
      `${JSON.stringify({ prestige: 'backup', format: FORMAT })}\n`,
    ])
    return target
  }

  async #isMarked(): Promise<boolean> {
    const text = await contentOf(this.#at(MARK))
    if (text === undefined) return false
    const format = formatOf(text)
    if (format === FORMAT) return true
    throw new PrestigeError(
      'FORMAT_UNSUPPORTED',
      `The backups at ${this.path} have format ${JSON.stringify(format)}, and this version of prestige reads format ${FORMAT}.`,
    )
  }

  /** The newest last. */
  async backupIds(): Promise<string[]> {
    const names = await namesIn(this.#at('backups'))
    return names
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -'.json'.length))
      .filter((id) => BACKUP_ID.test(id))
      .toSorted()
  }

  async readBackup(id: string): Promise<Manifest> {
    const text = await contentOf(this.#at('backups', `${id}.json`))
    if (text === undefined) throw unknownBackup(id, this.path)
    const [line = '', sum] = text.toString().split('\n')
    if (digestOf(Buffer.from(line)).toString('hex') !== sum)
      throw brokenBackup(`backups/${id}.json does not match its checksum`)
    // safe: only we write lines with this checksum, and the format is looked at first
    const manifest = JSON.parse(line) as Manifest
    if (manifest.format >= FORMAT && manifest.format <= FORMAT_WITH_LIFE) return manifest
    throw new PrestigeError(
      'FORMAT_UNSUPPORTED',
      `Backup ${id} has format ${JSON.stringify(manifest.format)}, and this version of prestige reads formats ${FORMAT} to ${FORMAT_WITH_LIFE}.`,
    )
  }

  /** By its whole id, or by how that begins. */
  async findBackup(wanted: string): Promise<Manifest> {
    const found = (await this.backupIds()).filter((id) => id.startsWith(wanted))
    const [only, another] = found
    if (only && another) {
      const message = `Several backups begin with ${JSON.stringify(wanted)}: ${found.join(', ')}. Name one of them.`
      throw new PrestigeError('INVALID_OPTIONS', message)
    }
    if (only) return this.readBackup(only)
    throw unknownBackup(wanted, this.path)
  }

  /** Of all backups of the namespace, if they are of one store. */
  async newestBackup(namespace: string): Promise<Manifest> {
    const newest = new Map<string, Manifest>()
    const others = new Set<string>()
    for (const id of await this.backupIds()) {
      const manifest = await this.readBackup(id)
      if (manifest.namespace === namespace) newest.set(manifest.store ?? '', manifest)
      else others.add(manifest.namespace)
    }
    // What does not say which store it is of is of the only one there is.
    const isOfOne = newest.size === 2 && newest.has('')
    const all = [...newest.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1))
    const found = isOfOne ? all.slice(-1) : all
    const [only, another] = found
    if (only && !another) return only
    if (!only && others.size > 0) throw otherNamespaces(this.path, namespace, others)
    if (!only) throw unknownBackup(undefined, this.path)
    const ways = found.map(({ id, keys }) => `${id} (${keys} keys)`).join(', ')
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `${this.path} holds backups of ${found.length} stores. The newest of each: ${ways}. Name one (backup, --backup ID).`,
    )
  }

  async writeBackup(
    manifest: Omit<Manifest, 'format'>,
    { hasMetadata, hasLife }: { readonly hasMetadata: boolean; readonly hasLife: boolean },
  ): Promise<void> {
    const format = hasLife ? FORMAT_WITH_LIFE : hasMetadata ? FORMAT_WITH_METADATA : FORMAT
    const line = JSON.stringify({ format, ...manifest })
    const sum = digestOf(Buffer.from(line)).toString('hex')
    await writeWhole(this.#at('backups', `${manifest.id}.json`), [`${line}\n${sum}\n`])
  }

  async removeBackup(id: string): Promise<void> {
    await rm(this.#at('backups', `${id}.json`), { force: true })
  }

  /** Of packs that are complete. */
  async packIds(): Promise<string[]> {
    return (await this.#packNames()).whole
  }

  async readIndexes(): Promise<ObjectIndex> {
    const ids = await this.packIds()
    const objects = new ObjectIndex()
    for (let at = 0; at < ids.length; at += INDEXES_AT_ONCE) {
      const some = ids.slice(at, at + INDEXES_AT_ONCE)
      for (const index of await Promise.all(some.map((id) => this.readIndex(id))))
        objects.add(index)
    }
    return objects
  }

  async readIndex(id: string): Promise<PackIndex> {
    const file = await contentOf(this.#at('packs', `${id}.index`))
    if (!file) throw brokenBackup(`packs/${id}.index is missing`)
    return readIndex(id, file)
  }

  async readPack(id: string): Promise<Buffer> {
    const file = await contentOf(this.#at('packs', `${id}.pack`))
    if (!file) throw brokenBackup(`packs/${id}.pack is missing`)
    return file
  }

  /** Its length; `undefined` where it is missing. */
  async packBytes(id: string): Promise<number | undefined> {
    return (await statOf(this.#at('packs', `${id}.pack`)))?.size
  }

  async writePack(id: string, pieces: readonly Uint8Array[], index: Buffer): Promise<void> {
    await writeWhole(this.#at('packs', `${id}.pack`), pieces)
    await writeWhole(this.#at('packs', `${id}.index`), [index])
  }

  /** The index first: without it nobody relies on the pack. */
  async removePack(id: string): Promise<void> {
    await rm(this.#at('packs', `${id}.index`), { force: true })
    await rm(this.#at('packs', `${id}.pack`), { force: true })
  }

  /** Whether a pack may be one of a backup that is being made. */
  async isRecent(id: string): Promise<boolean> {
    const found = await statOf(this.#at('packs', `${id}.pack`))
    return found !== undefined && Date.now() - found.mtimeMs < DAY_MS
  }

  async writeMark(name: string): Promise<void> {
    await writeWhole(this.#at('running', name), [`${new Date().toISOString()}\n`])
  }

  async removeMark(name: string): Promise<void> {
    await rm(this.#at('running', name), { force: true })
  }

  /** Whether there is a mark that begins so of somebody who is at work. Those of processes that have died go. */
  async isMarkedBy(prefix: string): Promise<boolean> {
    let isFresh = false
    for (const name of await namesIn(this.#at('running'))) {
      if (!name.startsWith(prefix)) continue
      const found = await statOf(this.#at('running', name))
      if (found && Date.now() - found.mtimeMs < MARK_MS) isFresh = true
      else await this.removeMark(name)
    }
    return isFresh
  }

  /** What backups that were cut off left behind and nobody can use. */
  async removeLeftovers(): Promise<void> {
    if (!isS3(this.path)) {
      for (const name of ['', 'packs', 'backups']) await removeAbandonedIn(this.#at(name))
    }
    for (const id of (await this.#packNames()).halves) {
      if (!(await this.isRecent(id))) await rm(this.#at('packs', `${id}.pack`), { force: true })
    }
  }

  async #packNames(): Promise<{ readonly whole: string[]; readonly halves: string[] }> {
    const names = await namesIn(this.#at('packs'))
    const idsOf = (end: string) =>
      names.filter((name) => name.endsWith(end)).map((name) => name.slice(0, -end.length))
    const whole = idsOf('.index')
    const known = new Set(whole)
    return { whole: whole.toSorted(), halves: idsOf('.pack').filter((id) => !known.has(id)) }
  }

  #at(...names: readonly string[]): string {
    return join(this.path, ...names)
  }
}

export function sha256Of(pieces: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest()
}

function requirePath(path: unknown): string {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return path
  throw new PrestigeError(
    'INVALID_LOCATION',
    `${JSON.stringify(path)} is no place for backups. Name a directory, or s3://BUCKET/PREFIX.`,
  )
}

function formatOf(text: Buffer): unknown {
  try {
    const mark: unknown = JSON.parse(text.toString())
    return typeof mark === 'object' && mark !== null && 'format' in mark ? mark.format : undefined
  } catch {
    return undefined
  }
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw unreadableTarget(directory, error)
  }
}

/** `undefined`: there is no such file. */
async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unreadableTarget(path, error)
  }
}

async function statOf(
  path: string,
): Promise<{ readonly size: number; readonly mtimeMs: number } | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unreadableTarget(path, error)
  }
}

function unreadableTarget(path: string, error: unknown): PrestigeError {
  if (error instanceof PrestigeError) return error
  const message = `${path} cannot be read (${codeOf(error) || String(error)}).`
  return new PrestigeError('INPUT_UNREADABLE', message, { cause: error })
}

function notEmpty(path: string): PrestigeError {
  return new PrestigeError(
    'TARGET_NOT_EMPTY',
    `${path} is not empty, and holds no backups. Name a directory or prefix for backups alone.`,
  )
}

function otherNamespaces(
  path: string,
  namespace: string,
  others: ReadonlySet<string>,
): PrestigeError {
  const names = [...others].map((name) => JSON.stringify(name)).join(', ')
  return new PrestigeError(
    'BACKUP_NOT_FOUND',
    `There is no backup of the namespace ${JSON.stringify(namespace)} at ${path}, only of ${names}. To restore one of those, name it (backup, --backup ID); prestige backups ${path} lists them.`,
  )
}

function unknownBackup(id: string | undefined, path: string): PrestigeError {
  const what = id === undefined ? 'There is no backup' : `There is no backup ${JSON.stringify(id)}`
  return new PrestigeError(
    'BACKUP_NOT_FOUND',
    `${what} at ${path}. prestige backups ${path} lists those that are there.`,
  )
}
