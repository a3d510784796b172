/** Reports for commands, which say the version of the program. */

import { writeNamed } from '../../platform/atomic-file.ts'
import type { Deduper } from '../../index.ts'
import type { Report } from '../../report/index.ts'
import { versionOf } from '../../platform/version.ts'

export async function reportOfRun(deduper: Deduper, run: string): Promise<Report> {
  const { reportOf } = await import('../../report/index.ts')
  return reportOf(deduper.backend, run, { version: versionOf() })
}

/** Of all runs of the state together. */
export async function reportOfAllRuns(deduper: Deduper): Promise<Report> {
  const { reportOfAll } = await import('../../report/index.ts')
  return reportOfAll(deduper.backend, { version: versionOf() })
}

export async function writePage(deduper: Deduper, report: Report, file: string): Promise<void> {
  const { pageOf } = await import('../../report/index.ts')
  await writeNamed(file, [await pageOf(deduper.backend, report)])
}
