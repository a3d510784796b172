/** The report of a run, written beside its outputs. */

import { writeNamed } from '../../platform/atomic-file.ts'
import type { Deduper, Summary } from '../../index.ts'
import type { Report } from '../../report/index.ts'
import { versionOf } from '../call/version.ts'

export async function reportOfRun(
  deduper: Deduper,
  run: string,
  summary?: Summary,
): Promise<Report> {
  const { reportOf } = await import('../../report/index.ts')
  return reportOf(deduper.backend, run, { version: versionOf() }, summary)
}

/** One page that needs nothing else, with samples side by side. */
export async function writePage(deduper: Deduper, report: Report, file: string): Promise<void> {
  const { htmlReport, samplePairs } = await import('../../report/index.ts')
  const samples = await samplePairs(deduper.backend, report)
  await writeNamed(file, [htmlReport(report, samples)])
}
