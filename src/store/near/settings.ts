/** How a new store finds near duplicates. */

import { type CanonicalProfile, canonicalProfile } from '../../canonical/index.ts'
import { WINNOWING_VERSION } from '../../fingerprint/index.ts'
import { CONTAINMENT_MIN, textNearSettings } from '../../match/index.ts'
import type { CheckedStoreOptions } from '../options.ts'
import type { NearSettings } from '../settings.ts'

/** Texts are compared in canonical form; without a profile of the store's own, that which reads the same is the same. */
export function wantedNear(
  { dedup, near }: Pick<CheckedStoreOptions, 'dedup' | 'near'>,
  profile: CanonicalProfile,
): NearSettings | undefined {
  if (dedup !== 'near' && dedup !== 'hybrid') return undefined
  const {
    threshold: similarityMin,
    candidatesMax: _candidates,
    bucketMax: _bucket,
    containment,
    ...wanted
  } = near ?? {}
  const { evidence: _evidence, ...settings } = textNearSettings({
    ...wanted,
    similarityMin,
    evidence: 'text',
  })
  const { name, version } = profile.name === 'none' ? canonicalProfile('unicode') : profile
  return {
    ...settings,
    canonical: { name, version },
    ...(containment && {
      containment: { min: containment.min ?? CONTAINMENT_MIN, version: WINNOWING_VERSION },
    }),
  }
}
