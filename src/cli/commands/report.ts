/** `report [RUN]`: results of a run of dedupe, in the terminal, as JSON or as one page. */

import { stateOf } from '../dedupe/dedupe-settings.ts'
import { keyMissing, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'
import { reportOfRun, writePage } from '../dedupe/run-report.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { isTakenBack, openDedupe } = await import('../../dedupe/index.ts')
  const deduper = await openDedupe(stateOf(invocation), { create: false, asBefore: true })
  try {
    const runs = await deduper.runs()
    const id = invocation.operands[0] ?? runs.findLast((one) => !isTakenBack(one))?.id
    if (id === undefined) throw usageFailure('There is no run yet. Make one with prestige dedupe.')
    if (!runs.some((one) => one.id === id)) throw keyMissing(id)
    const report = await reportOfRun(deduper, id)
    const page = invocation.text('html')
    if (page !== undefined) await writePage(deduper, report, page)
    if (invocation.flag('json')) await printJson(report)
    else if (page !== undefined) await print(`The report is in ${page}\n`)
    else {
      const { textReport } = await import('../../report/index.ts')
      const width = process.stdout.columns ?? 80
      const colour = process.stdout.isTTY && !process.env['NO_COLOR']
      await print(textReport(report, { width, colour }))
    }
    return 0
  } finally {
    await deduper.close()
  }
}
