/** Names what the fingerprints of a state were made with: the lines of its ledger say it. */

import { fingerprintVersion } from '../match/index.ts'
import { type Engine, recordedVersion } from './decision/engine.ts'

export function versionOf({ config, form, settings }: Engine): string {
  const [name = form] = form.split(', version ')
  const canonical = { name, version: recordedVersion(form) }
  return config.near.enabled
    ? fingerprintVersion(canonical, settings)
    : `${canonical.name}-${canonical.version}`
}
