/** Values that were written as text: numbers with units, lists with commas, yes and no. */

import { PrestigeError } from '../../platform/errors.ts'
import type { SchemaField } from './schema-fields.ts'

const FACTORS: Readonly<Record<string, number>> = {
  '': 1,
  '%': 0.01,
  b: 1,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
}

/** `name`: of the setting, or what was typed for it. */
export function readValue({ kind }: SchemaField, text: string, name: string): unknown {
  if (kind === 'list')
    return text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean)
  if (kind === 'boolean') return booleanOf(text, name)
  return kind === 'number' ? numberOf(text, name) : text
}

function numberOf(text: string, name: string): number {
  const found = /^\s*(?<amount>\d+(?:\.\d+)?|\.\d+)\s*(?<unit>[a-z%]*)\s*$/i.exec(text)?.groups
  const factor = FACTORS[found?.['unit']?.toLowerCase() ?? '-']
  if (found && factor !== undefined) {
    const number = Number(found['amount'])
    // Divided, because 57 * 0.01 is not 0.57.
    return factor === 0.01 ? number / 100 : number * factor
  }
  throw unreadable(text, name, 'a number, such as 5, 60% or 10MB')
}

function booleanOf(text: string, name: string): boolean {
  if (text === 'true' || text === '1' || text === 'yes') return true
  if (text === 'false' || text === '0' || text === 'no') return false
  throw unreadable(text, name, 'true or false')
}

function unreadable(text: string, name: string, is: string): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    `${name}: must be ${is}, not ${JSON.stringify(text)}.`,
  )
}
