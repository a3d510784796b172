/**
 * Where the records of a run are: each run has a folder of its own, `runs/RUN`, and the newest records are also at the
 * top of the outputs. Records are complete in the folder before the first of them is shown at the top.
 */

import { copyWhole, outputFailure } from '../../platform/atomic-file.ts'
import { codeOf } from '../../platform/errors.ts'
import { readFile } from '../../platform/files.ts'
import { join } from '../../platform/paths.ts'

export const RUNS_FOLDER = 'runs'

/** What a run writes beside `kept/`. The manifest is last: it says that the others are there. */
export const RECORDS = [
  'duplicates.jsonl',
  'rejects.jsonl',
  'superseded.jsonl',
  'manifest.json',
] as const

/** What is written after the manifest, for people. */
export const REPORTS = ['report.json', 'report.html'] as const

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

/** Whether a record of this run is at the top, if that is where the records of this run are. */
export async function isShown(out: string, run: string, name: string): Promise<boolean> {
  return !(await isAtTop(out, run)) || isSame(out, run, name)
}

/** Whether the records at the top are those of this run. */
export function isAtTop(out: string, run: string): Promise<boolean> {
  return isSame(out, run, 'manifest.json')
}

async function isSame(out: string, run: string, record: string): Promise<boolean> {
  const [own, top] = await Promise.all([
    readIfThere(recordPath(out, run, record)),
    readIfThere(join(out, record)),
  ])
  return own !== undefined && top !== undefined && own.equals(top)
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw outputFailure(path, error)
  })
}
