/**
 * Verifies or salvages the store at a location. Of a directory, the structure of its file comes first: the engine may
 * crash on a damaged page, so rows are read by it only after the pages were found sound, or by a reader that cannot
 * crash.
 */

import { readdir } from 'node:fs/promises'

import { type Bytes, startsWith } from '../platform/bytes.ts'
import { type Backend, backendAt, namespacePrefix, type Row } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { isDirectory } from '../platform/location.ts'
import { openStore, storeOn } from './open.ts'
import { readOptions } from '../platform/options.ts'
import { type StoreOptions, type CheckedStoreOptions, storeOptions } from './options.ts'
import { storeSpaces } from './rows.ts'
import { type Lost, salvage, type Salvaged, targetInput } from './salvage.ts'
import type { Gap } from './tolerant-scan.ts'
import type { Problem, VerifyOptions, VerifyReport } from './verify/report.ts'

export type { Lost, Salvaged } from './salvage.ts'

export interface VerifyStoreOptions extends VerifyOptions {
  /** Called once with how much there is to read, where that is known. */
  readonly onSize?: (bytes: number) => void
}

const NOTHING_READ = { keys: 0, contents: 0, contentBytes: 0, unfinishedUploads: 0, notes: [] }

export async function verifyStore(
  location: string,
  input: StoreOptions,
  options: VerifyStoreOptions = {},
): Promise<VerifyReport> {
  const pages = await damagedPages(location)
  if (pages.length > 0 && options.repair) throw beyondRepair(pages)
  const report = await verifyRows(location, input, options, pages.length > 0)
  return {
    ...report,
    problems: [...pages, ...report.problems],
    problemCount: pages.length + report.problemCount,
    isSound: pages.length === 0 && report.isSound,
  }
}

export async function damagedPages(location: string): Promise<Problem[]> {
  if (!isDirectory(location)) return []
  const { checkStructure } = await import('../backends/lmdb/index.ts')
  const { problems } = await checkStructure(location)
  return problems.map(({ tree, page, reason }) => ({
    kind: 'page-damaged',
    message: `Page ${page} (${tree}): ${reason}`,
    keys: [],
    repaired: false,
  }))
}

function beyondRepair([first, ...others]: readonly Problem[]): PrestigeError {
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  return new PrestigeError(
    'CONTENT_CORRUPT',
    `Nothing was repaired: pages of the file are damaged. ${first?.message ?? ''}${more}. Copy what is readable with prestige verify --salvage DIRECTORY.`,
  )
}

async function verifyRows(
  location: string,
  input: StoreOptions,
  { onSize, ...options }: VerifyStoreOptions,
  isDamaged: boolean,
): Promise<VerifyReport> {
  const read = readOptions(storeOptions, { ...input, create: false }, 'Store options')
  const isReadOnly = options.repair !== true
  try {
    const backend = await sourceOf(location, read, isReadOnly)
    await using store = await storeOn(backend, location, read).catch(async (error: unknown) => {
      await backend.close().catch(() => {})
      throw error
    })
    if (onSize) await store.stats().then(({ contentBytes }) => onSize(contentBytes), noSize)
    return await store.verify(options)
  } catch (error) {
    // The rows of a file whose pages are damaged may be unreadable from the start: the pages are the finding.
    if (!isDamaged || !isCorrupt(error)) throw error
    const message = error.message
    const problem: Problem = { kind: 'space-unreadable', message, keys: [], repaired: false }
    return { ...NOTHING_READ, problems: [problem], problemCount: 1, isSound: false }
  }
}

/** Damaged tallies are for the verification to report. */
function noSize(error: unknown): void {
  if (!isCorrupt(error)) throw error
}

function isCorrupt(error: unknown): error is PrestigeError {
  return error instanceof PrestigeError && error.kind === 'corrupt'
}

async function sourceOf(
  location: string,
  options: CheckedStoreOptions,
  isReadOnly: boolean,
): Promise<Backend> {
  const readOnly = isReadOnly && isDirectory(location)
  return backendAt(
    location,
    storeSpaces,
    readOnly ? { ...options, durability: undefined, readOnly } : options,
  )
}

async function openDamaged(
  directory: string,
  { namespace, clock }: CheckedStoreOptions,
): Promise<Backend> {
  const { openReadOnly } = await import('../backends/lmdb/index.ts')
  return openReadOnly(directory, { spaces: storeSpaces, namespace, clock, isTolerant: true })
}

/** Every row that is on a readable page, in no order, whether a lookup would find it or not. */
async function* readableRows(
  directory: string,
  space: string,
  namespace: string | undefined,
): AsyncGenerator<Row<Bytes> | Gap> {
  const { readableRows: rowsOf } = await import('../backends/lmdb/index.ts')
  const prefix = namespacePrefix(namespace)
  for await (const row of rowsOf(directory, space)) {
    if ('reason' in row) {
      const isKnown = row.low !== undefined && startsWith(row.low, prefix)
      yield {
        after: isKnown ? row.low?.subarray(prefix.byteLength) : undefined,
        reason: row.reason,
      }
    } else if (startsWith(row.key, prefix)) {
      yield { key: row.key.subarray(prefix.byteLength), value: row.value }
    }
  }
}

export interface SalvageOptions {
  readonly signal?: AbortSignal | undefined
  readonly onKey?: ((bytes: number) => void) | undefined
  /** Called with everything that could not be copied, as it is found. */
  readonly onLost?: ((lost: Lost) => Promise<void> | void) | undefined
}

/** Copies everything that is readable and right into a new store, with the settings of the old one. */
export async function salvageStore(
  location: string,
  target: string,
  input: Pick<StoreOptions, 'namespace' | 'canonical'> = {},
  options: SalvageOptions = {},
): Promise<Salvaged> {
  await requireEmpty(target)
  const read = readOptions(storeOptions, { ...input, create: false }, 'Store options')
  const backend = isDirectory(location)
    ? await openDamaged(location, read)
    : await backendAt(location, storeSpaces, read)
  try {
    const opened = await targetInput(backend, input, options.onLost)
    await using store = await openStore(target, { ...opened.input, durability: 'os' })
    const rows = isDirectory(location)
      ? (space: string) => readableRows(location, space, input.namespace)
      : undefined
    return await salvage({ backend, rows, ...opened }, store, options)
  } finally {
    await backend.close()
  }
}

async function requireEmpty(target: string): Promise<void> {
  if (!isDirectory(target)) {
    const message = `${JSON.stringify(target)} is no directory. Salvage into a new directory, then export --archive and import --archive to move the store.`
    throw new PrestigeError('INVALID_LOCATION', message)
  }
  const names = await readdir(target).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  })
  if (names.length === 0) return
  throw new PrestigeError(
    'TARGET_NOT_EMPTY',
    `${target} is not empty. Name a directory that is empty or not there yet.`,
  )
}
