/**
 * What a put does around its transaction: writing parts, making sure of a large content, or finding out what a text
 * means, where the transaction asks for it; and cleaning up afterwards.
 */

import type { Backend } from '../backends/contract.ts'
import { PrestigeError } from '../errors.ts'
import { removeParts } from './collect.ts'
import type { Notes } from './observe.ts'
import { confirmLarge } from './heal.ts'
import { isEnd, type Prepared, type PutEnd, type putValue, type PutWish } from './put.ts'
import { stage } from './staging.ts'

/** Each has a commit of somebody else for its reason. */
const WISHES_MAX = 1000

/** Does what a transaction wishes for, and runs it again, until it has ended. */
export async function grant(
  backend: Backend,
  prepared: Prepared,
  wish: PutWish,
  body: typeof putValue,
  notes: Notes | undefined,
): Promise<PutEnd> {
  let ready = prepared
  let end: PutEnd | PutWish = wish
  try {
    for (let wishes = 0; !isEnd(end); wishes++) {
      if (wishes > WISHES_MAX) throw endless(end)
      // Asking what has to be done first was no attempt to store it.
      if (notes) notes.attempts--
      ready = await granted(backend, ready, end, notes)
      end = await backend.run(body, ready)
    }
    return end
  } finally {
    const { staged } = ready
    const isInVain = !isEnd(end) || end.stagedInVain
    if (staged && isInVain) await cleanUp(() => removeParts(backend, staged))
  }
}

async function granted(
  backend: Backend,
  prepared: Prepared,
  wish: PutWish,
  notes: Notes | undefined,
): Promise<Prepared> {
  const { semantic } = prepared.keeping
  if (typeof wish === 'object') return confirmLarge(backend, prepared, wish)
  if (wish === 'stage' && !prepared.staged) return stage(backend, prepared)
  if (wish === 'stage' || !semantic) throw endless(wish)
  const { meaning: before, value } = prepared
  if (before !== undefined) notes?.count('prestige.semantic.stale_match_total')
  const known = typeof before === 'object' ? before : undefined
  return { ...prepared, meaning: await semantic.meaningOf(value, known, notes) }
}

function endless(wish: PutWish): PrestigeError {
  if (wish === 'stage') {
    const message = 'A value in parts cannot be asked to be put in parts.'
    return new PrestigeError('BODY_MISUSE', message)
  }
  if (typeof wish === 'object') {
    const message = 'The content of this value was replaced every time it was read. Try again.'
    return new PrestigeError('CONTENDED', message)
  }
  const message = 'Texts of like meaning came too fast for this one to be decided about. Try again.'
  return new PrestigeError('CONTENDED', message)
}

/**
 * The verb has been done; what is left to clean up is noted in the store, and the next `collect` finds it. A
 * failure that may pass must not make what was done look undone.
 */
export async function cleanUp<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PrestigeError && error.retryable) return undefined
    throw error
  }
}
