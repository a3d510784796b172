/** `show ID`: the text of a document of dedupe, read again from its input; what is known of it goes to stderr. */

import type { DocumentInfo } from '../../dedupe/index.ts'
import { harmless } from '../../platform/harmless.ts'
import { Failure, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { documentMissing, filterOf } from '../inspect/not-found.ts'
import { withState } from '../inspect/with-state.ts'
import { choiceText, documentText, inJson, inOrder, placeText, since } from '../inspect/words.ts'
import { printJson, printText, tell } from '../print/output.ts'
import { size } from '../print/units.ts'

export function run(invocation: Invocation): Promise<number> {
  return withState(invocation, async (deduper) => {
    const found = await deduper.documents(invocation.operand(0), filterOf(invocation))
    const [document] = found
    if (!document) throw await documentMissing(deduper, invocation)
    if (invocation.flag('json')) {
      for (const one of found) await printJson(inJson(one))
      return 0
    }
    if (found.length > 1) throw several(found)
    const { text, missing = '' } = document
    if (text === undefined) throw new Failure('missing', 'FILE_NOT_FOUND', missing)
    if (!invocation.flag('quiet')) tell(factsOf(document))
    await printText(text)
    return 0
  })
}

function factsOf(document: DocumentInfo): string {
  const { status, source, bytes, run: ofRun } = document
  const facts = [`source ${harmless(source)}`, size(bytes), `run ${harmless(ofRun)}`]
  return `${documentText(document)}: ${status}${since(document)}; ${facts.join(', ')}\n`
}

function several(found: readonly DocumentInfo[]): Failure {
  const [first] = found
  const places = inOrder(found).map((one) => placeText(one) || 'no file')
  return usageFailure(
    `Several documents have the id "${harmless(first?.id ?? '')}": ${places.join('; ')}. ${choiceText(found)}`,
  )
}
