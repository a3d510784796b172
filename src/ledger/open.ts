/** Opens a ledger: chooses the backend, reads the options, checks the format. */

import { type Backend, openBackend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { Ledger } from './ledger.ts'
import { type LedgerInput, type LedgerOptions, ledgerOptions } from './options.ts'
import { ledgerSpaces } from './rows.ts'
import { openSettings } from './settings.ts'
import { readOptions } from '../platform/options.ts'

/**
 * Opens the ledger at a location: a directory (that of a store may be shared), `memory:`, or a backend of one's own,
 * which brings its own namespace, clock and durability, and is closed with the ledger.
 */
export async function openLedger(
  location: string | Backend,
  input: LedgerInput = {},
): Promise<Ledger> {
  const options = readOptions(ledgerOptions, input, 'Ledger options')
  const backend = await backendOf(location, options)
  try {
    await openSettings(backend, options.create)
    return new Ledger(backend, options)
  } catch (error) {
    if (typeof location === 'string') await backend.close().catch(() => {})
    throw error
  }
}

async function backendOf(location: string | Backend, options: LedgerOptions): Promise<Backend> {
  const { namespace, clock, random, durability, create } = options
  if (typeof location === 'string') {
    if (location === 'memory:' && durability !== undefined) {
      throw new PrestigeError('INVALID_OPTIONS', 'durability cannot be used here: memory has none.')
    }
    return openBackend(location, {
      spaces: ledgerSpaces,
      namespace,
      clock,
      random,
      durability,
      create,
    })
  }
  if (typeof location !== 'object' || location === null || !('run' in location)) {
    throw new PrestigeError(
      'INVALID_LOCATION',
      'Give a directory, "memory:", a redis:// location, or a backend.',
    )
  }
  const vain = Object.entries({ namespace, clock, random, durability }).filter(([, value]) => value)
  if (vain.length === 0) return location
  const names = vain.map(([name]) => name).join(', ')
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${names} cannot be used here: a backend that is given brings its own.`,
  )
}
