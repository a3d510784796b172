/** Refuses, by name and before anything is applied, what an engine could not keep. */

import type { Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { BackendLimits, Space } from '../contract.ts'
import { type Addition, cellName, type Write } from './draft.ts'

interface Keyed {
  readonly space: Space<unknown>
  readonly key: Bytes
}

/** What a transaction has recorded, and on engines that validate also what it relies on. */
interface Recorded {
  readonly writes: readonly Write[]
  readonly additions: readonly Addition[]
  readonly checks?: readonly Keyed[]
}

export function checkWrites(recorded: Recorded, limits: BackendLimits): void {
  checkCells(recorded, limits.cellsMax)
  for (const addition of recorded.additions) checkKey(addition, limits)
  checkBytes(recorded, limits)
  for (const write of recorded.writes) {
    checkKey(write, limits)
    const { space, bytes } = write
    if (bytes !== undefined && bytes.byteLength > limits.valueBytesMax) {
      throw new PrestigeError(
        'INVALID_VALUE',
        `A value here has at most ${limits.valueBytesMax} bytes; one of space ${space.name} has ${bytes.byteLength}.`,
      )
    }
  }
}

function checkCells({ writes, additions, checks = [] }: Recorded, cellsMax: number): void {
  if (writes.length + additions.length + checks.length <= cellsMax) return
  const all = [...writes, ...additions, ...checks].map(({ space, key }) => cellName(space, key))
  const count = new Set(all).size
  if (count <= cellsMax) return
  throw new PrestigeError(
    'BODY_MISUSE',
    `A transaction here relies on and writes at most ${cellsMax} cells; this one takes ${count}.`,
  )
}

function checkBytes({ writes }: Recorded, { transactionBytesMax }: BackendLimits): void {
  if (transactionBytesMax === undefined) return
  let sum = 0
  for (const { key, bytes } of writes) sum += key.byteLength + (bytes?.byteLength ?? 0)
  if (sum <= transactionBytesMax) return
  throw new PrestigeError(
    'INVALID_VALUE',
    `A transaction here writes at most ${transactionBytesMax} bytes; this one writes ${sum}. Make it of smaller values.`,
  )
}

function checkKey({ space, key }: Keyed, { keyBytesMax }: BackendLimits): void {
  if (key.byteLength <= keyBytesMax) return
  throw new PrestigeError(
    'INVALID_KEY',
    `A key here has at most ${keyBytesMax} bytes; one of space ${space.name} has ${key.byteLength}.`,
  )
}
