/** The report of a run, written beside its outputs. */

import { writeNamed } from '../../platform/atomic-file.ts'
import type { Deduper, Summary } from '../../index.ts'
import type { Report } from '../../report/index.ts'
import { versionOf } from '../../platform/version.ts'

export async function reportOfRun(
  deduper: Deduper,
  run: string,
  summary?: Summary,
): Promise<Report> {
  const { reportOf } = await import('../../report/index.ts')
  return reportOf(deduper.backend, run, { version: versionOf() }, summary)
}

/** Of all runs of the state together. */
export async function reportOfAllRuns(deduper: Deduper): Promise<Report> {
  const { reportOfAll } = await import('../../report/index.ts')
  return reportOfAll(deduper.backend, { version: versionOf() })
}

/** One page that needs nothing else, with samples side by side. */
export async function writePage(deduper: Deduper, report: Report, file: string): Promise<void> {
  const { htmlReport, samplesOf } = await import('../../report/index.ts')
  const { pairs, beginnings } = await samplesOf(deduper.backend, report)
  await writeNamed(file, [htmlReport(report, pairs, beginnings)])
}
