/** Options that are a number of bytes. */

import type { OptionName } from '../declarations/index.ts'
import { usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'

const UNITS = ['', 'KiB', 'MiB', 'GiB', 'TiB']

/** Bytes of `1048576`, `500MiB` or `1.5GiB`. Units of a thousand are refused: `size` prints none either. */
export function sizeGiven(invocation: Invocation, option: OptionName): number | undefined {
  const text = invocation.text(option)
  if (text === undefined) return undefined
  const found = /^(?<amount>\d+(?:\.\d+)?)(?<unit>[KMGT]iB)?$/.exec(text)?.groups
  const bytes = Number(found?.['amount']) * 1024 ** UNITS.indexOf(found?.['unit'] ?? '')
  if (Number.isFinite(bytes) && (Number.isInteger(bytes) || found?.['unit'])) {
    return Math.floor(bytes)
  }
  throw usageFailure(
    `--${option} is a number of bytes, or one with KiB, MiB, GiB or TiB; not "${text}".`,
  )
}
