/** The name of everything that the fingerprints of a text depend on besides the text itself. */

import type { TextNearSettings } from './settings.ts'

/**
 * `unicode-2/adaptive/128/f1-2c9b41d7`: canonical form and its version, shingles, slots, hashes. Fingerprints of two
 * names do not compare.
 */
export function fingerprintVersion(
  canonical: { readonly name: string; readonly version: number | string },
  { profile, slots, hashVersion }: Pick<TextNearSettings, 'profile' | 'slots' | 'hashVersion'>,
): string {
  return `${canonical.name}-${canonical.version}/${profile}/${slots}/${hashVersion}`
}
