/** The report of a run, written beside its outputs. */

import { createHash } from 'node:crypto'
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'

import type { Deduper, Summary } from '../index.ts'
import type { Report } from '../report/index.ts'
import { fileFailure, systemCode } from './failure.ts'
import { versionOf } from './version.ts'

export async function reportOfRun(
  deduper: Deduper,
  run: string,
  summary?: Summary,
): Promise<Report> {
  const { reportOf } = await import('../report/index.ts')
  return reportOf(deduper.backend, run, { version: versionOf() }, summary)
}

/** One page that needs nothing else, with samples side by side. */
export async function writePage(deduper: Deduper, report: Report, file: string): Promise<void> {
  const { htmlReport, samplePairs } = await import('../report/index.ts')
  const samples = await samplePairs(deduper.backend, report)
  await writeAside(file, htmlReport(report, samples))
}

/** Aside first, under a name that shows its owner; what a process that is no more left there is removed. */
export async function writeAside(file: string, text: string): Promise<void> {
  const aside = `${file}.tmp-${HOST}${process.pid.toString(16)}`
  try {
    await removeAbandoned(file)
    await writeFile(aside, text)
    await rename(aside, file)
  } catch (error) {
    await rm(aside, { force: true })
    throw fileFailure(file, error)
  }
}

/** Of which machine: others that share the directory have processes of the same numbers. */
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 5)

async function removeAbandoned(file: string): Promise<void> {
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
    // Somebody else's process is one too.
    return systemCode(error) === 'EPERM'
  }
}
