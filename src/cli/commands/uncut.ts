/** `uncut [ID]`: kept documents of dedupe as they were before `--passages cut`. It only reads. */

import type { UncutDocument } from '../../dedupe/index.ts'
import { harmless } from '../../platform/harmless.ts'
import { Failure, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { documentMissing } from '../inspect/not-found.ts'
import { withState } from '../inspect/with-state.ts'
import { printJson, printText, tell } from '../print/output.ts'

export function run(invocation: Invocation): Promise<number> {
  return withState(invocation, async (deduper) => {
    const { uncutDocuments } = await import('../../dedupe/index.ts')
    const [id] = invocation.operands
    if (id === undefined || invocation.flag('json')) {
      for await (const one of uncutDocuments(deduper.backend, id)) await printJson(one)
      return 0
    }
    const found: UncutDocument[] = []
    for await (const one of uncutDocuments(deduper.backend, id)) found.push(one)
    const [document] = found
    if (!document) {
      if ((await deduper.documents(id)).length === 0)
        throw await documentMissing(deduper, invocation)
      const message = `"${harmless(id)}" is not kept, so nothing was cut from it. prestige show prints its text.`
      throw new Failure('missing', 'KEY_NOT_FOUND', message)
    }
    if (found.length > 1) {
      throw usageFailure(
        `Several documents have the id "${harmless(id)}". Print all of them with --json.`,
      )
    }
    const { text, cut } = document
    if (cut && !invocation.flag('quiet')) {
      tell('Containment has cut this document, and what it has cut is not recorded.\n')
    }
    await printText(text)
    return 0
  })
}
