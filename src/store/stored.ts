/** A store as a listing sees it. */

import { type Backend, cell } from '../backends/index.ts'
import { settings, storeSpaces } from './rows.ts'
import { readCounts } from './tallies.ts'

export const storedStore = {
  kind: 'store',
  spaces: storeSpaces,
  settings: cell(settings, Buffer.from('store')),
  async counts(backend: Backend): Promise<Record<'keys' | 'contents' | 'contentBytes', number>> {
    const { keys, contents, contentBytes } = await backend.read(readCounts)
    return { keys, contents, contentBytes }
  },
} as const
