/** `mcp [LOCATION]`: tools for models over standard input and output, until the input ends or a signal comes. */

import { LazilyOpened } from '../../platform/lazily-opened.ts'
import { isDirectory } from '../../platform/location.ts'
import type { Invocation } from '../call/invocation.ts'
import { stateWithin } from '../call/location.ts'
import { versionOf } from '../../platform/version.ts'
import { choice, locationOf, storeInput } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const given = invocation.operands[0] ?? locationOf(invocation)
  const write = invocation.flag('write')
  const location = write ? given : stateWithin(given)
  const { serveMcp } = await import('../../adapters/mcp.ts')
  const opened = openedAt(location, invocation, write)
  const server = await serveMcp({ version: versionOf(), write, ...opened })
  await ended(invocation.signal)
  await server.close()
  await opened.close()
  invocation.isComplete = true
  return 0
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    process.stdin.once('end', resolve)
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Store and resolver of one location, opened with the first call that needs them. */
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
  return {
    store: () => store.get(),
    resolver: () => resolver.get(),
    async close() {
      await store.close()
      await resolver.close()
    },
  }
}
