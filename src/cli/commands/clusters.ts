/** `clusters`: the largest clusters of a state, with the beginning of each text. */

import type { DocumentCluster, DocumentInfo } from '../../dedupe/index.ts'
import type { Invocation } from '../call/invocation.ts'
import { countGiven } from '../call/count-given.ts'
import { withState } from '../inspect/with-state.ts'
import { beginningOf, documentText, inJson } from '../inspect/words.ts'
import { paint, print, printJson, tell } from '../print/output.ts'
import { countOf } from '../print/units.ts'
import { columnsOf } from '../texts/explain-texts.ts'

export function run(invocation: Invocation): Promise<number> {
  return withState(invocation, async (deduper) => {
    const found = await deduper.clusters({
      limit: countGiven(invocation, 'limit', 1, 1000),
      sizeMin: countGiven(invocation, 'min-size', 2),
    })
    if (invocation.flag('json')) {
      for (const one of found) await printJson(inJson(one))
    } else if (found.length === 0) tell('There are no clusters of that size.\n')
    else await print(found.map(textOf).join('\n'))
    return 0
  })
}

function textOf({ size, survivor, centre, members }: DocumentCluster): string {
  const others = members.map((one) => {
    const how = `${one.method} ${one.similarity.toFixed(3)}`
    return lineOf(one.key === survivor.key ? `kept, ${how}` : how, one)
  })
  const isOther = centre.key !== survivor.key
  const isListed = members.some(({ key }) => key === survivor.key)
  const left = size - 1 - members.length - (isOther && !isListed ? 1 : 0)
  const heads = [
    ...(isOther && isListed ? [] : [lineOf('kept', survivor)]),
    ...(isOther ? [lineOf('measured against', centre)] : []),
  ]
  return [
    `${paint('bold', countOf(size, 'document'))}\n`,
    ...heads,
    ...others,
    ...(left > 0 ? [`  and ${countOf(left, 'more document')}\n`] : []),
  ].join('')
}

function lineOf(what: string, document: DocumentInfo): string {
  return `  ${what}: ${documentText(document)}\n    ${beginningOf(document, columnsOf() - 4)}\n`
}
