/** What tests of second runs share: runs over files of a directory with a state in memory, and the check after each. */

import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { parquetReadObjects } from 'hyparquet'
import { afterEach, beforeEach } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { type DedupeOptions, openDedupe } from '../src/index.ts'
import type { OutputFormat } from '../src/input/index.ts'
import { type Doc, jsonl, writeFiles } from './corpus-kit.ts'
import { checkOutputs, keptFiles, keptLines, Originals } from './output-check.ts'

interface Call extends DedupeOptions {
  readonly run?: string
  readonly out?: string
  readonly formatOut?: OutputFormat
  readonly shardSize?: number
}

/** Fresh for every test of the file. */
export function useRuns(name: string) {
  const now = { directory: '', engine: new MemoryEngine(), originals: new Originals() }
  beforeEach(async () => {
    now.directory = await mkdtemp(join(tmpdir(), name))
    now.engine = new MemoryEngine()
    now.originals = new Originals()
  })
  afterEach(() => rm(now.directory, { recursive: true, force: true }))

  const at = (...names: string[]) => join(now.directory, ...names)

  async function opened<T>(
    options: DedupeOptions,
    use: (state: Awaited<ReturnType<typeof openDedupe>>) => Promise<T>,
    step?: number,
  ): Promise<T> {
    const backend = new MemoryBackend({}, now.engine)
    const state = await openDedupe(step === undefined ? backend : failing(backend, step), options)
    try {
      return await use(state)
    } finally {
      await state.close()
    }
  }

  /** `step`: everything fails from this transaction on. */
  function dedupe(inputs: string[], call: Call = {}, step?: number) {
    const { run, out = 'out', formatOut, shardSize, ...options } = call
    const listing = { sources: 'files' as const }
    const how = { run, formatOut, shardSize, listing }
    const job = { inputs: inputs.map((input) => at(input)), out: at(out), ...how }
    return opened(options, (state) => state.run(job), step)
  }

  const undo = (run: string, cascade = false, step?: number) =>
    opened({ asBefore: true }, (state) => state.undo(run, { cascade }), step)

  async function check(
    read: (out: string) => string[] | Promise<string[]> = keptLines,
    out = 'out',
  ): Promise<void> {
    await checkOutputs(new MemoryBackend({}, now.engine), at(out), now.originals, read)
  }

  /** Files of lines, whose documents are known to the check. */
  function write(files: Record<string, readonly Doc[]>): void {
    for (const [file, docs] of Object.entries(files)) {
      now.originals.add(docs)
      writeFiles(now.directory, { [file]: jsonl(docs) })
    }
  }

  return Object.assign(now, { at, opened, dedupe, undo, check, write })
}

/** Everything fails from the n-th transaction on, as if the process had been killed. */
export function failing(backend: MemoryBackend, step: number): MemoryBackend {
  let steps = 0
  return new Proxy(backend, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'run') return value.bind(target)
      return (...args: unknown[]) => {
        if (++steps >= step) return Promise.reject(new Error('killed'))
        return value.apply(target, args)
      }
    },
  })
}

/** Rows of Parquet. */
export async function keptRows(out: string): Promise<Doc[]> {
  const rows: Doc[] = []
  for (const name of keptFiles(out)) {
    const bytes = readFileSync(join(out, 'kept', name))
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
    for (const row of await parquetReadObjects({ file })) rows.push(row as Doc) // safe: all have an id and a text
  }
  return rows
}
