/**
 * Where the records of a run are: each run has a folder of its own, `runs/RUN`, and the newest records are also at the
 * top of the outputs. Records are complete in the folder before the first of them is shown at the top.
 */

import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'

import { outputFailure } from '../../input/index.ts'

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

async function copyWhole(from: string, to: string): Promise<void> {
  const aside = asideOf(to)
  try {
    await removeAbandoned(to)
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

/** Of which machine: others that share the directory have processes of the same numbers. */
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 5)

/** Where this process writes a file before it is complete. */
export function asideOf(file: string): string {
  return `${file}.tmp-${HOST}${process.pid.toString(16)}`
}

/** Removes what processes of this machine that are no more left beside a file. */
export async function removeAbandoned(file: string): Promise<void> {
  const start = `${basename(file)}.tmp-${HOST}`
  for (const name of await readdir(dirname(file))) {
    const pid = name.startsWith(start) ? Number.parseInt(name.slice(start.length), 16) : 0
    if (pid > 0 && pid !== process.pid && !isAlive(pid)) {
      await rm(join(dirname(file), name), { force: true })
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // A process of another user is alive too.
    return Reflect.get(Object(error), 'code') === 'EPERM'
  }
}
