/** The report of a run, written beside its outputs: the last thing that a run does. */

import type { Backend } from '../backends/index.ts'
import {
  isShown,
  type JobResult,
  listRuns,
  recordPath,
  REPORTS,
  showRecords,
} from '../dedupe/index.ts'
import { writeNamed, writeWhole } from '../platform/atomic-file.ts'
import { exists } from '../platform/files.ts'
import { resolve } from '../platform/paths.ts'
import { htmlReport } from './html-report.ts'
import { type Report, reportOf, type ReportOptions } from './report.ts'
import { samplesOf } from './sample-pairs.ts'

/** Both forms of the report, as records of the run. */
export async function writeReports(
  backend: Backend,
  out: string,
  { run, status, summary }: Pick<JobResult, 'run' | 'status' | 'summary'>,
  options: ReportOptions,
): Promise<void> {
  const known = status === 'finished' ? summary : undefined
  const report = await reportOf(backend, run, options, known)
  const json = recordPath(out, run, 'report.json')
  await writeWhole(json, [`${JSON.stringify(report, undefined, 2)}\n`])
  await writeNamed(recordPath(out, run, 'report.html'), [await pageOf(backend, report)])
  await showRecords(out, run, REPORTS)
}

/** One page that needs nothing else, with samples side by side. */
export async function pageOf(backend: Backend, report: Report): Promise<string> {
  const { pairs, beginnings } = await samplesOf(backend, report)
  return htmlReport(report, pairs, beginnings)
}

/** Whether the run was killed before it had written its report. */
export async function lacksReport(backend: Backend, out: string, run: string): Promise<boolean> {
  const place = resolve(out)
  const known = (await listRuns(backend)).find(({ id }) => id === run)
  if (known?.out !== place) return false
  return (
    !(await exists(recordPath(place, run, 'report.html'))) ||
    !(await isShown(place, run, 'report.html'))
  )
}
