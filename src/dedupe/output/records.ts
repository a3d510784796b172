/**
 * Where the records of a run are: each run has a folder of its own, `runs/RUN`, and the newest records are also at the
 * top of the outputs. Records are complete in the folder before the first of them is shown at the top.
 */

import { readFile, rename, rm, stat } from '../../platform/files.ts'
import { join } from '../../platform/paths.ts'

import { copyWhole, outputFailure, writeWhole } from '../../platform/atomic-file.ts'
import { codeOf } from '../../platform/errors.ts'
import { isRaw } from '../config/raw.ts'

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

/** Passages that many documents share, where the run looks for them: only in the folder of a run. */
export const PASSAGES_FILE = 'passages.jsonl'

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

/**
 * Marks the records of a run as those of one that was undone, and shows those of `newest` at the top in their place, or
 * none. What is at the top of another run stays.
 */
export async function retireRecords(
  out: string,
  run: string,
  newest: string | undefined,
  undoneAt: number,
): Promise<void> {
  const path = recordPath(out, run, 'manifest.json')
  const bytes = await readIfThere(path)
  const top = await readIfThere(join(out, 'manifest.json'))
  const manifest = bytes && parsed(bytes)
  // Without a manifest at the top, another attempt was killed in between.
  const isTop = top === undefined || parsed(top)?.['run'] === run
  if (manifest && manifest['status'] !== 'undone') {
    const marked = { ...manifest, status: 'undone', undoneAt: new Date(undoneAt).toISOString() }
    await writeWhole(path, [`${JSON.stringify(marked, undefined, 2)}\n`])
  }
  if (!isTop) return
  // The manifest goes first and comes last: it says that the others are there.
  await removeTop(out, ['manifest.json'])
  for (const name of [...RECORDS, ...REPORTS]) {
    if (name === 'manifest.json') continue
    const isThere = newest !== undefined && (await readIfThere(recordPath(out, newest, name)))
    if (isThere) await showRecords(out, newest, [name])
    else await removeTop(out, [name])
  }
  if (newest !== undefined && (await readIfThere(recordPath(out, newest, 'manifest.json')))) {
    await showRecords(out, newest, ['manifest.json'])
  }
}

/** A name may be used again once its run was undone: the records of that run get another, `RUN~2`. */
export async function putUndoneAside(out: string, run: string): Promise<void> {
  const manifest = parsed(await readIfThere(recordPath(out, run, 'manifest.json')))
  if (manifest?.['status'] !== 'undone') return
  const folder = recordPath(out, run, '')
  for (let number = 2; ; number++) {
    const aside = join(out, RUNS_FOLDER, `${run}~${number}`)
    const isTaken = await stat(aside).catch(() => undefined)
    if (isTaken) continue
    await rename(folder, aside).catch((error: unknown) => {
      throw outputFailure(folder, error)
    })
    return
  }
}

async function removeTop(out: string, names: readonly string[]): Promise<void> {
  for (const name of names) await rm(join(out, name), { force: true })
}

function parsed(bytes: Buffer | undefined): Record<string, unknown> | undefined {
  try {
    const found: unknown = JSON.parse(bytes?.toString() ?? '')
    return isRaw(found) ? found : undefined
  } catch {
    return undefined
  }
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
