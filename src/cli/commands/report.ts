/** `report [RUN]`: results of a run of dedupe, or of all, in the terminal, as JSON or as one page. */

import { keyMissing, usageFailure } from '../call/failure.ts'
import type { Deduper } from '../../index.ts'
import type { Invocation } from '../call/invocation.ts'
import { reportOfAllRuns, reportOfRun, writePage } from '../dedupe/run-report.ts'
import { withState } from '../inspect/with-state.ts'
import { print, printJson } from '../print/output.ts'
import type { Report } from '../../report/index.ts'

export function run(invocation: Invocation): Promise<number> {
  return withState(invocation, async (deduper) => {
    const report = await reportAskedFor(deduper, invocation)
    const page = invocation.text('html')
    if (page !== undefined) await writePage(deduper, report, page)
    if (invocation.flag('json')) await printJson(report)
    else if (page !== undefined) await print(`The report is in ${page}\n`)
    else {
      const { samplesOf, textReport } = await import('../../report/index.ts')
      const { beginnings } = await samplesOf(deduper.backend, report)
      const width = process.stdout.columns ?? 80
      const colour = process.stdout.isTTY && !process.env['NO_COLOR']
      await print(textReport(report, { width, colour, beginnings }))
    }
    return 0
  })
}

async function reportAskedFor(deduper: Deduper, invocation: Invocation): Promise<Report> {
  const [typed] = invocation.operands
  const isAll = invocation.flag('all')
  if (isAll && typed !== undefined) {
    throw usageFailure(`--all reports all runs: leave out ${typed}, or --all.`)
  }
  const runs = await deduper.runs()
  const last = runs.findLast(({ status }) => status !== 'undone' && status !== 'superseded')
  const id = typed ?? last?.id
  if (id === undefined) throw usageFailure('There is no run yet. Make one with prestige dedupe.')
  if (!runs.some((one) => one.id === id)) throw keyMissing(id)
  return isAll ? reportOfAllRuns(deduper) : reportOfRun(deduper, id)
}
