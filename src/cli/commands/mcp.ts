/**
 * `mcp [LOCATION]`: tools for models over standard input and output, until the input ends or a signal comes. What was read
 * from an input that has ended is answered first.
 */

import type { Deduper } from '../../dedupe/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { LazilyOpened } from '../../platform/lazily-opened.ts'
import { isDirectory } from '../../platform/location.ts'
import type { Invocation } from '../call/invocation.ts'
import { isWithoutData, stateWithin } from '../call/location.ts'
import { inJson } from '../inspect/words.ts'
import { versionOf } from '../../platform/version.ts'
import { choice, locationOf, storeInput } from '../call/with-store.ts'
import { tell } from '../print/output.ts'

export async function run(invocation: Invocation): Promise<number> {
  const given = invocation.operands[0] ?? locationOf(invocation)
  const write = invocation.flag('write')
  const location = write ? given : stateWithin(given)
  if (!write && isWithoutData(location))
    tell(
      `prestige mcp: nothing is stored at ${location}; calls fail until there is. --write makes a store.\n`,
    )
  const { serveMcp } = await import('../../adapters/mcp.ts')
  const opened = openedAt(location, invocation, write)
  const server = await serveMcp({ version: versionOf(), write, ...opened })
  const stopped = abortOf(invocation.signal)
  await Promise.race([endOfInput(), stopped])
  await Promise.race([server.answered(), stopped])
  await server.close()
  await opened.close()
  invocation.isComplete = true
  return 0
}

function endOfInput(): Promise<void> {
  return new Promise((resolve) => process.stdin.once('end', resolve))
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Store, resolver and corpus state of one location, opened with the first call that needs them. */
function openedAt(location: string, invocation: Invocation, write: boolean) {
  const store = new LazilyOpened(async () => {
    const { openStore } = await import('../../store/index.ts')
    const how =
      !write && isDirectory(location)
        ? { readOnly: true }
        : { durability: choice(invocation, 'durability') }
    return openStore(location, { ...(await storeInput(invocation)), ...how, create: write })
  })
  const resolver = new LazilyOpened(async () => {
    const { openResolver } = await import('../../resolve/index.ts')
    return openResolver(location, { namespace: invocation.text('namespace'), create: write })
  })
  const deduper = new LazilyOpened(async () => {
    const { openDedupe } = await import('../../dedupe/index.ts')
    return openDedupe(stateWithin(location), { create: false, asBefore: true })
  })
  return {
    store: () => store.get(),
    resolver: () => resolver.get(),
    documents: async (id: string) => explained(await deduper.get(), id),
    async close() {
      await Promise.all([store.close(), resolver.close(), deduper.close()])
    },
  }
}

async function explained(deduper: Deduper, id: string): Promise<object[]> {
  const found = await deduper.why(id)
  if (found.length > 0) return found.map((one) => Object(inJson(one)))
  const { similarId } = await import('../../dedupe/index.ts')
  const similar = await similarId(deduper.backend, id)
  const hint = similar === undefined ? '' : ` Did you mean "${similar}"?`
  throw new PrestigeError('KEY_NOT_FOUND', `There is no document "${id}" in this state.${hint}`)
}
