/**
 * The embedded engine: LMDB in a directory, for one machine. Its native part is loaded when a directory is opened for
 * writing; what only reads uses a reader of the file in TypeScript.
 */

import type { Backend } from '../contract.ts'
import type { LmdbFileBackend, ReadOnlyOptions } from './file/backend.ts'
import type { LostRange, SalvagedRow } from './file/salvage.ts'
import type { StructureReport } from './file/structure.ts'
import type { LmdbOptions } from './options.ts'

export type { Durability } from './options.ts'

export async function openLmdb(directory: string, options: LmdbOptions): Promise<Backend> {
  return (await import('./backend.ts')).openLmdb(directory, options)
}

export async function openReadOnly(
  directory: string,
  options: ReadOnlyOptions,
): Promise<LmdbFileBackend> {
  return (await import('./file/backend.ts')).openReadOnly(directory, options)
}

/** Damaged pages of the file. */
export async function checkStructure(directory: string): Promise<StructureReport> {
  return (await import('./file/structure.ts')).checkStructure(directory)
}

/** Of these spaces, those that have rows, by namespace. */
export async function namespacesOf(
  directory: string,
  spaces: readonly string[],
  timeoutMs?: number,
): Promise<Map<string, Set<string>>> {
  return (await import('./file/namespaces.ts')).namespacesOf(directory, spaces, timeoutMs)
}

/** Every row of a space that is on a readable page, and what is missing between them. */
export async function* readableRows(
  directory: string,
  space: string,
): AsyncGenerator<SalvagedRow | LostRange> {
  const { readableRows: rowsOf } = await import('./file/salvage.ts')
  yield* rowsOf(directory, space)
}
