/** Which settings of a run are not the defaults: what a reader of its results must know. */

import { DEFAULT_PROFILE } from '../../fingerprint/index.ts'
import { type DedupeConfig, readConfig } from '../config/config.ts'
import { nearSettingsOf } from '../decision/prepare.ts'

export interface ChangedSetting {
  /** As in a config file: `near.threshold`. */
  readonly name: string
  readonly value: string
}

/** In the order of a config file. */
export function changedSettings(config: DedupeConfig): ChangedSetting[] {
  const defaults = new Map(flattened(defaultsFor(config)))
  return flattened(config)
    .filter(([name, value]) => value !== defaults.get(name))
    .map(([name, value]) => ({ name, value }))
}

/** With what a state fills in where nothing is said. */
function defaultsFor({ near, simhash }: DedupeConfig): DedupeConfig {
  const plain = readConfig({})
  const { judge, precision } = near
  const unsaid = nearSettingsOf({ ...plain, near: { ...plain.near, judge, precision } })
  const { profile, evidence, similarityMin, guards } = unsaid
  return {
    ...plain,
    near: { ...plain.near, profile, evidence, threshold: similarityMin, guards },
    simhash: {
      ...plain.simhash,
      // Without SimHash, neither says anything.
      profile: simhash.enabled ? DEFAULT_PROFILE : simhash.profile,
    },
  }
}

/** Judges are named, not printed. */
function flattened(section: object, prefix = ''): [name: string, value: string][] {
  return Object.entries(section).flatMap(([key, value]: [string, unknown]) => {
    const name = `${prefix}${key}`
    if (value === undefined) return []
    if (Array.isArray(value)) return [[name, value.join(', ')]]
    if (typeof value === 'string') return [[name, value]]
    if (typeof value !== 'object' || value === null) return [[name, JSON.stringify(value)]]
    const hash: unknown = Reflect.get(value, 'hash')
    return typeof hash === 'string' ? [[name, hash]] : flattened(value, `${name}.`)
  })
}
