/**
 * Where the records of a run are: each run has a folder of its own, `runs/RUN`, and the newest records are also at the
 * top of the outputs. Records are complete in the folder before the first of them is shown at the top.
 */

import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { outputFailure } from '../input/failure.ts'

export const RUNS_FOLDER = 'runs'

/** What a run writes beside `kept/`. The manifest is last: it says that the others are there. */
export const RECORDS = [
  'duplicates.jsonl',
  'rejects.jsonl',
  'superseded.jsonl',
  'manifest.json',
] as const

/** Which output was made from which input: only in the folder of a run. */
export const OUTPUTS_FILE = 'outputs.jsonl'

export function recordPath(out: string, run: string, name: string): string {
  return join(out, RUNS_FOLDER, run, name)
}

/** Copies records of a run to the top of the outputs, in the order given. */
export async function showRecords(
  out: string,
  run: string,
  names: readonly string[] = RECORDS,
): Promise<void> {
  for (const name of names) await copyWhole(recordPath(out, run, name), join(out, name))
}

async function copyWhole(from: string, to: string): Promise<void> {
  const aside = `${to}.tmp-${randomBytes(6).toString('hex')}`
  try {
    await copyFile(from, aside, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    const handle = await open(aside, 'r+')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(aside, to)
  } catch (error) {
    await rm(aside, { force: true })
    throw outputFailure(to, error)
  }
}
