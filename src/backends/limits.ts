/** Refuses, by name and before anything is applied, what an engine could not keep. */

import { PrestigeError } from '../errors.ts'
import type { BackendLimits } from './contract.ts'
import type { Draft } from './draft.ts'

export function checkWrites(draft: Draft, limits: BackendLimits): void {
  if (draft.writes.length > limits.cellsMax) {
    throw new PrestigeError(
      'BODY_MISUSE',
      `A transaction here writes at most ${limits.cellsMax} cells; this one writes ${draft.writes.length}.`,
    )
  }
  for (const { space, key, bytes } of draft.writes) {
    if (key.byteLength > limits.keyBytesMax) {
      throw new PrestigeError(
        'INVALID_KEY',
        `A key here has at most ${limits.keyBytesMax} bytes; one of space ${space.name} has ${key.byteLength}.`,
      )
    }
    if (bytes !== undefined && bytes.byteLength > limits.valueBytesMax) {
      throw new PrestigeError(
        'INVALID_VALUE',
        `A value here has at most ${limits.valueBytesMax} bytes; one of space ${space.name} has ${bytes.byteLength}.`,
      )
    }
  }
}
