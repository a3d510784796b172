/**
 * Where the records of a run are: each run has a folder of its own, `runs/RUN`, and the newest records are also at the
 * top of the outputs. Records are complete in the folder before the first of them is shown at the top.
 */

import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

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
  // Whoever resumes this run finds what a killed process left under the same name.
  const mark = createHash('sha256').update(run).digest('hex').slice(0, 12)
  for (const name of names) {
    await copyWhole(recordPath(out, run, name), join(out, name), `${name}.tmp-${mark}`)
  }
}

/** Whether a record of this run is at the top, if that is where the records of this run are. */
export async function isShown(out: string, run: string, name: string): Promise<boolean> {
  const isSame = async (record: string) => {
    const [own, top] = await Promise.all([
      readIfThere(recordPath(out, run, record)),
      readIfThere(join(out, record)),
    ])
    return own !== undefined && top !== undefined && own.equals(top)
  }
  return !(await isSame('manifest.json')) || isSame(name)
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch((error: unknown) => {
    if (Reflect.get(Object(error), 'code') === 'ENOENT') return undefined
    throw outputFailure(path, error)
  })
}

async function copyWhole(from: string, to: string, asideName: string): Promise<void> {
  const aside = join(dirname(to), asideName)
  try {
    await rm(aside, { force: true })
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
