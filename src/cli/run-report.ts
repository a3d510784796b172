/** The report of a run, written beside its outputs. */

import { rename, rm, writeFile } from 'node:fs/promises'

import { asideOf, removeAbandoned } from '../dedupe/index.ts'
import type { Deduper, Summary } from '../index.ts'
import type { Report } from '../report/index.ts'
import { fileFailure } from './failure.ts'
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
  const aside = asideOf(file)
  try {
    await removeAbandoned(file)
    await writeFile(aside, text)
    await rename(aside, file)
  } catch (error) {
    await rm(aside, { force: true })
    throw fileFailure(file, error)
  }
}
