/** Removing a key, and what is left to do after its transaction. */

import type { StoreCore } from '../core.ts'
import type { Notes } from '../observe.ts'
import { keyBytes, type StoreKey } from '../prepare.ts'
import { noteSwept } from '../put-notes.ts'
import { removeKey } from '../transactions/remove.ts'

/** Whether the key was there. */
export async function remove(core: StoreCore, key: StoreKey): Promise<boolean> {
  const { gate, observer } = core
  return gate.pass(async () => {
    if (core.isOld) await core.raise()
    if (!observer) return removed(core, key)
    return observer.observe('delete', (notes) => removed(core, key, notes))
  })
}

async function removed(core: StoreCore, key: StoreKey, notes?: Notes): Promise<boolean> {
  const { gc, keeping } = core.preparation
  const body = notes ? notes.counting(removeKey) : removeKey
  const bytes = keyBytes(key)
  notes?.attribute('key_bytes', bytes.byteLength)
  const started = notes && performance.now()
  const end = await core.backend.run(body, { key: bytes, gc, keeping }).catch((error) => {
    core.invalidate(error)
    throw error
  })
  if (notes && started !== undefined) {
    notes.measure('commit_us', (performance.now() - started) * 1000)
    if (!end.existed) notes.count('not_found_total')
    if (end.swept) noteSwept(notes)
  }
  if (end.released) await core.afterRelease(end.released)
  if (end.swept) await core.adopt()
  return end.existed
}
