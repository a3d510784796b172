/** Opens a ledger: reads the options, checks the format. */

import { type Location, metered, openAt } from '../backends/index.ts'
import { Ledger } from './ledger.ts'
import { type LedgerOptions, ledgerOptions } from './options.ts'
import { ledgerSpaces } from './rows.ts'
import { openSettings } from './settings.ts'
import { readOptions } from '../platform/options.ts'

/**
 * Opens the ledger at a location: a directory (that of a store may be shared), `memory:`, `redis://…`, `dynamodb://…`,
 * or a backend of one's own, which brings its own namespace, clock and durability, and is closed with the ledger.
 */
export async function openLedger(location: Location, input: LedgerOptions = {}): Promise<Ledger> {
  const options = readOptions(ledgerOptions, input, 'Ledger options')
  return openAt(location, ledgerSpaces, options, async (opened) => {
    const backend = metered(opened, options.metrics)
    return new Ledger(backend, options, await openSettings(backend, options.create))
  })
}
