/**
 * Writes the sketches of inputs to one Parquet file, for engines that join tables too large for one machine.
 *
 * Rows are in the order of the inputs; the file is there when it is complete. Memory holds one row group.
 */

import {
  type Columns,
  isReject,
  type Listing,
  openColumns,
  placeOfReject,
  type ReadingInput,
  readLendingTexts,
  type Reject,
  type Shard,
} from '../../input/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { refusedReject } from '../phases/rejected.ts'
import { type SketchRow, Sketcher } from './sketch-rows.ts'

const COLUMNS = {
  id: 'string',
  source: 'string',
  file: 'string',
  position: 'int64',
  profile: 'string',
  own: 'boolean',
  digest: 'bytes',
  form: 'bytes',
  bytes: 'int64',
  shingles: 'int32',
  signature: 'int32[]',
  bands: 'int64[]',
} as const satisfies Columns
const WITH_HASHES = { ...COLUMNS, hashes: 'int32[]' } as const satisfies Columns

const GROUP_ROWS = 8192
/** Values of lists in a row group, at most, about. */
const GROUP_VALUES = 2_000_000

export interface SketchOptions {
  readonly config: DedupeConfig
  readonly reading?: ReadingInput | undefined
  /** Also the hashes of all shingles: with them similarities are exact. */
  readonly keepsHashes?: boolean | undefined
  /** The first piece of input that is no document ends it. */
  readonly strict?: boolean | undefined
  readonly version: string
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((documents: number, bytes: number) => void) | undefined
}

export interface SketchCounts {
  documents: number
  rows: number
  rejected: number
  /** The first piece of input that is no document, and why. */
  firstReject?: string
}

export async function writeSketches(
  { shards }: Pick<Listing, 'shards'>,
  file: string,
  options: SketchOptions,
): Promise<SketchCounts> {
  const { config, keepsHashes = false, version } = options
  const sketcher = new Sketcher(config, keepsHashes)
  const columns = keepsHashes ? WITH_HASHES : COLUMNS
  const output = await openColumns(file, columns, metadataOf(sketcher, version))
  const group = new RowGroup(columns)
  const counts: SketchCounts = { documents: 0, rows: 0, rejected: 0 }
  try {
    const positions = new Positions()
    for (const shard of shards) {
      for await (const items of readLendingTexts(shard, options.reading ?? {})) {
        options.signal?.throwIfAborted()
        for (const item of items) {
          const place = positions.of(shard, item.position)
          if (isReject(item)) countReject(counts, shard, item, options.strict)
          else {
            const rows = sketcher.rowsOf(item)
            const { id, source } = item
            for (const row of rows) group.add({ id, source, ...place, ...row })
            counts.documents++
            counts.rows += rows.length
            options.onProgress?.(1, Number(rows[0]?.bytes ?? 0))
            if (group.isFull) await output.write(group.take())
          }
        }
      }
    }
    if (!group.isEmpty) await output.write(group.take())
  } catch (error) {
    await output.abort()
    throw error
  }
  await output.close()
  return counts
}

function countReject(
  counts: SketchCounts,
  shard: Shard,
  reject: Reject,
  strict: boolean | undefined,
): void {
  if (strict) throw refusedReject(shard, reject)
  counts.rejected++
  counts.firstReject ??= `${placeOfReject(shard, reject)}: ${reject.message}`
}

/** What sketches must have in common to be compared. */
function metadataOf({ settings, canonical }: Sketcher, version: string): Record<string, string> {
  const { similarityMin, profile, slots, bands, rows, hashVersion } = settings
  const form = `${canonical.name} ${canonical.version}`
  const described = { threshold: similarityMin, profile, slots, bands, rows, hashVersion, form }
  return { prestige: JSON.stringify({ format: 1, version, ...described }) }
}

interface Place {
  readonly file: string
  /** Which piece of the file it is, from 0; rejected ones count. */
  readonly position: bigint
}

/** Positions of a shard are its own; those of a file count through all of its shards. */
class Positions {
  #path = ''
  #index = -1
  #before = 0
  #next = 0

  of({ path, files, index }: Shard, position: number): Place {
    const own = files?.[position]
    if (own) return { file: own.path, position: 0n }
    if (path !== this.#path) [this.#path, this.#before, this.#next] = [path, 0, 0]
    else if (index !== this.#index) this.#before = this.#next
    this.#index = index
    this.#next = this.#before + position + 1
    return { file: path, position: BigInt(this.#before + position) }
  }
}

type FullRow = SketchRow & Place & { readonly id: string; readonly source: string }

class RowGroup {
  readonly #names: readonly string[]
  #rows: FullRow[] = []
  #values = 0

  constructor(columns: Columns) {
    this.#names = Object.keys(columns)
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0
  }

  get isFull(): boolean {
    return this.#rows.length >= GROUP_ROWS || this.#values >= GROUP_VALUES
  }

  add(row: FullRow): void {
    this.#rows.push(row)
    this.#values += row.signature.length + row.bands.length + row.hashes.length
  }

  take(): Record<string, unknown[]> {
    const rows = this.#rows
    this.#rows = []
    this.#values = 0
    const columnOf = (name: string) => rows.map((row): unknown => Reflect.get(row, name))
    return Object.fromEntries(this.#names.map((name) => [name, columnOf(name)]))
  }
}
