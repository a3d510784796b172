/**
 * What can be said of the file of a directory without its engine, which may crash on a damaged page.
 *
 * This is the one place where a reader of LMDB files is connected. As long as there is none, the structure is not
 * checked, and rows are read by the engine.
 */

import type { Bytes } from '../bytes.ts'
import type { Backend, BackendOptions, Row } from './contract.ts'

export interface StructureProblem {
  /** The number of the page, where it is known. */
  readonly page: number | undefined
  readonly problem: string
}

export interface StructureReader {
  /** What is wrong with the pages of the store in this directory. */
  checkStructure(directory: string): AsyncIterable<StructureProblem>
  /** A backend that reads, and that damage cannot crash. */
  openSafely(directory: string, options: BackendOptions): Promise<Backend>
  /** Every row that is on a readable page, in no order, whether a lookup would find it or not. */
  readableRows(directory: string, space: string): AsyncIterable<Row<Bytes>>
}

export async function structureReader(): Promise<StructureReader | undefined> {
  return undefined
}
