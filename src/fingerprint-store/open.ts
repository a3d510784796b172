/** Opens fingerprints: reads the options, checks what they were made with, fills the tables in memory. */

import { type Location, metered, openAt } from '../backends/index.ts'
import { readOptions } from '../platform/options.ts'
import { Fingerprints } from './fingerprints.ts'
import { type FingerprintsOptions, fingerprintsOptions } from './options.ts'
import { fingerprintSpaces } from './rows.ts'
import { openSettings } from './settings.ts'

/**
 * Opens the fingerprints at a location: a directory (that of a store may be shared), `memory:`, `redis://…`,
 * `dynamodb://…`, or a backend of one's own, which brings its own namespace, clock and durability, and is closed with
 * them.
 */
export async function openFingerprints(
  location: Location,
  input: FingerprintsOptions = {},
): Promise<Fingerprints> {
  const options = readOptions(fingerprintsOptions, input, 'Options of fingerprints')
  return openAt(location, fingerprintSpaces, options, async (opened) => {
    const backend = metered(opened, options.metrics)
    return Fingerprints.open(backend, await openSettings(backend, options), options)
  })
}
