/** `members ID`: all that was resolved to an id, the representative first. */

import { Failure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { jsonOf, print } from '../print/output.ts'
import { time } from '../print/units.ts'
import { groupOf, withResolver } from '../call/with-resolver.ts'
import { shareText } from './resolve.ts'

const LINES_AT_ONCE = 1000

export async function run(invocation: Invocation): Promise<number> {
  const id = invocation.operand(0)
  const group = groupOf(invocation)
  await withResolver(invocation, { create: false }, async (resolver) => {
    let found = 0
    let output = ''
    for await (const member of resolver.members(group, id)) {
      const { id: input, similarity, at } = member
      output += invocation.flag('json')
        ? `${jsonOf(member)}\n`
        : `${input}\t${shareText(similarity)}\t${time(at)}\n`
      if (++found % LINES_AT_ONCE > 0) continue
      await print(output)
      output = ''
      invocation.signal.throwIfAborted()
    }
    if (found === 0) throw noSuchId(id, group)
    await print(output)
  })
  return 0
}

function noSuchId(id: string, group: string): Failure {
  return new Failure('missing', 'KEY_NOT_FOUND', `There is no id ${id} in group "${group}".`)
}
