/**
 * What data was written with, recorded beside it: opening it otherwise is an error that names each setting that
 * differs, the stored value and the one asked for, and says what to do.
 */

import { PrestigeError } from './errors.ts'

export type Settings = Readonly<Record<string, unknown>>

export interface Difference {
  readonly name: string
  readonly stored: unknown
  readonly asked: unknown
}

/** These are chosen by the others, and say nothing where another one differs. */
const DERIVED = new Set(['slots', 'bands', 'rows'])

/** Stored names that options have other names for. */
const SHOWN: Readonly<Record<string, string>> = {
  similarityMin: 'threshold',
  cosineMin: 'threshold',
}

/** Settings within settings are named with a dot. Whatever was not asked for does not differ. */
export function differencesOf(stored: Settings, asked: Settings, prefix = ''): Difference[] {
  const all = Object.entries(asked).flatMap(([name, wanted]) => {
    const found = stored[name]
    if (isSettings(found) && isSettings(wanted)) {
      return differencesOf(found, wanted, `${prefix}${name}.`)
    }
    const isSame = wanted === undefined || JSON.stringify(found) === JSON.stringify(wanted)
    return isSame ? [] : [{ name: `${prefix}${SHOWN[name] ?? name}`, stored: found, asked: wanted }]
  })
  const chosen = all.filter(({ name }) => !DERIVED.has(name.slice(prefix.length)))
  return chosen.length > 0 ? chosen : all
}

/** `what`: the store, the state; `remedy`: what to do, as a sentence. */
export function requireSame(
  what: string,
  differences: readonly Difference[],
  remedy: string,
): void {
  if (differences.length === 0) return
  const list = differences.map(({ name, stored, asked }) =>
    name.endsWith('hashVersion')
      ? `its texts are hashed by version ${valueText(stored)}, and this prestige has ${valueText(asked)}`
      : `${name} is ${valueText(stored)} there, and ${valueText(asked)} was asked for`,
  )
  throw new PrestigeError(
    'SETTINGS_MISMATCH',
    `The ${what} was written with other settings: ${list.join('; ')}. ${remedy}`,
  )
}

function isSettings(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function valueText(value: unknown): string {
  if (value === undefined) return 'not set'
  if (value === false) return 'off'
  if (value === true || isSettings(value)) return 'on'
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

/** A profile or function with its version, as one value. */
export function versioned(of: {
  readonly name: string
  readonly version: number | string
}): string {
  return `${of.name}, version ${of.version}`
}

/** Settings as they were stored, as JSON, if they are of one of these formats. */
export function readRecorded(what: string, text: string, formats: readonly number[]): Settings {
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch (error) {
    throw new PrestigeError('CONTENT_CORRUPT', `The ${what}'s settings cannot be read.`, {
      cause: error,
    })
  }
  const read = isSettings(found) ? found : {}
  requireFormat(what, read['format'], formats)
  return read
}

export function requireFormat(what: string, format: unknown, formats: readonly number[]): void {
  if (formats.some((one) => one === format)) return
  const known = formats.length > 1 ? `formats ${formats.join(' and ')}` : `format ${formats.join()}`
  throw new PrestigeError(
    'FORMAT_UNSUPPORTED',
    `This ${what} has format ${String(format)}; this version of prestige reads ${known}. Export it with the version that wrote it, and import it with this one.`,
  )
}
