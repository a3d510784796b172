/** Collecting: what was noted for it, then what was linked to what has gone. */

import type { Backend } from '../../backends/index.ts'
import { CALL_OPTIONS, type CallOptions } from '../call-options.ts'
import { collectAll, type Collected } from '../collecting-steps.ts'
import type { StoreCore } from '../core.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { refuseUnknown } from '../prepare.ts'
import { bounded, type Bounds } from './bounded.ts'

const BOUNDS: Bounds = { what: 'The collection', isDecisive: () => true, inSteps: true }

export async function collect(core: StoreCore, options: CallOptions = {}): Promise<Collected> {
  refuseUnknown(options, CALL_OPTIONS)
  if (core.preparation.gc === 'never') throw keepsAll()
  const collected = await bounded(core.backend, options, BOUNDS, (backend) =>
    core.gate.pass(() =>
      collectOn(core, backend).catch((error) => {
        core.invalidate(error)
        throw error
      }),
    ),
  )
  core.observer?.count('prestige.sweep.deleted_total', collected.contents)
  core.observer?.count('prestige.sweep.expired_total', collected.expiredKeys)
  return collected
}

/** It can be cut off anywhere: what is left is noted, and the next one goes on. */
async function collectOn(core: StoreCore, backend: Backend): Promise<Collected> {
  const { keeping } = core.preparation
  if (core.isOld) await core.raise()
  const all = await collectAll(backend, keeping)
  await core.saveIndex()
  return all
}

function keepsAll(): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    "This store is open with gc: 'never', which keeps everything. Open it with another gc to collect.",
  )
}
