/**
 * What a put does around its transaction: writing parts, making sure of a large content, or finding out what a text
 * means, where the transaction asks for it; and cleaning up afterwards.
 */

import { type Backend, cell, glance, type Transaction } from '../../backends/index.ts'
import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { removeParts } from '../collect.ts'
import { codedAgainst, shortBytes } from '../contents/deltas.ts'
import type { Layout } from '../contents/layout.ts'
import type { NotCompared } from '../near/store-near.ts'
import type { Notes } from '../observe.ts'
import { confirmLarge } from './heal.ts'
import { isEnd, type Prepared, type PutEnd, type putValue, type PutPrerequisite } from './put.ts'
import type { Meaning, StoreSemantic } from '../semantic/store-semantic.ts'
import { digests, type Known } from '../rows.ts'
import { stage } from './staging.ts'

/** Each has a commit of somebody else for its reason. */
const ROUNDS_MAX = 1000

/** Does what a transaction needs first, and runs it again, until it has ended. */
export async function runWithPrerequisites(
  backend: Backend,
  prepared: Prepared,
  first: PutEnd | PutPrerequisite,
  body: typeof putValue,
  notes: Notes | undefined,
): Promise<PutEnd> {
  let ready = prepared
  let end = first
  const looking = new Looking(prepared.keeping.semantic, notes)
  try {
    for (let rounds = 0; !isEnd(end); rounds++) {
      if (rounds > ROUNDS_MAX) throw endless(end)
      // Asking what has to be done first was no attempt to store it.
      if (notes) notes.attempts--
      ready = await withPrerequisite(backend, ready, end, looking)
      end = await backend.run(body, ready)
    }
    return end
  } finally {
    looking.end()
    const { staged } = ready
    const isUnused = !isEnd(end) || end.stagedUnused
    if (staged && isUnused) await cleanUp(() => removeParts(backend, staged))
  }
}

/** The value with what a transaction has asked for. */
export async function withPrerequisite(
  backend: Backend,
  prepared: Prepared,
  prerequisite: PutPrerequisite,
  looking: Looking,
): Promise<Prepared> {
  if (typeof prerequisite === 'object') return confirmLarge(backend, prepared, prerequisite)
  if (prerequisite === 'stage' && !prepared.staged) return stage(backend, prepared)
  if (prerequisite === 'stage') throw endless(prerequisite)
  if (prerequisite === 'sketch' || prerequisite === 'measure') {
    await compare(backend, prepared)
    return prepared
  }
  return { ...prepared, meaning: await looking.timed(prepared) }
}

/** Makes a value ready to be compared, measures what it may be like, and codes it, while nobody waits for the writer. */
async function compare(
  backend: Backend,
  { near: input, keeping: { near }, coding, layout }: Prepared,
): Promise<void> {
  const value = input?.get()
  if (near === undefined || value === undefined || typeof value === 'string') return
  const { hits } = await backend.read(() => near.search(value, undefined))
  const [hit] = hits
  if (hit) await backend.read(() => codedAgainst(coding, { ...hit.payload, id: hit.id }, layout))
}

/** Where there is one writer, what is long and new is sketched before the writer is asked for. */
export async function sketchIfNew(
  backend: Backend,
  { near, digest }: Pick<Prepared, 'near' | 'digest'>,
): Promise<void> {
  if (near?.isLong && !(await backend.read(isKnown, digest))) near.get()
}

/**
 * Where there is one writer, a value is compressed, or compared with what is stored, before the writer is asked for.
 */
export async function packIfNew(backend: Backend, prepared: Prepared): Promise<Prepared> {
  const { digest, packed, check, layout, value } = prepared
  const { known, stored } = await backend.read(findStored, digest, layout)
  if (!known) packed?.row()
  if (!known || !check) return prepared
  if (!stored || !equalBytes(stored, value)) return prepared
  return { ...prepared, confirmed: { id: known.id, isHealed: false } }
}

function* findStored(
  _scope: unknown,
  digest: Buffer,
  layout: Layout,
): Transaction<{ readonly known: Known | undefined; readonly stored: Bytes | undefined }> {
  const [known] = yield* glance(cell(digests, digest))
  const isShort = known && !layout.isLong(known.bytes)
  return { known, stored: isShort ? yield* shortBytes(known, layout) : undefined }
}

function* isKnown(_scope: unknown, digest: Buffer): Transaction<boolean> {
  return (yield* glance(cell(digests, digest)))[0] !== undefined
}

/**
 * Finds out what a text means, as often as it takes. Whoever has to look again takes a turn until its put has ended:
 * otherwise each of many puts would make all others look again. Embedding, which may take long, is done before.
 */
export class Looking {
  readonly #semantic: StoreSemantic | undefined
  readonly #notes: Notes | undefined
  #endTurn: (() => void) | undefined

  constructor(semantic: StoreSemantic | undefined, notes: Notes | undefined) {
    this.#semantic = semantic
    this.#notes = notes
  }

  async timed(prepared: Prepared): Promise<Meaning | NotCompared> {
    const started = performance.now()
    try {
      return await this.#look(prepared)
    } finally {
      if (this.#notes) this.#notes.embeddingMs += performance.now() - started
    }
  }

  async #look({ meaning: before, value }: Prepared): Promise<Meaning | NotCompared> {
    const semantic = this.#semantic
    if (!semantic) throw endless('embed')
    const notes = this.#notes
    if (before !== undefined) {
      notes?.count('prestige.semantic.stale_match_total')
      notes?.event('semantic.stale_match')
    }
    const known = before ?? (await semantic.vectorsOf(value, notes))
    if (typeof known === 'string') return known
    const isContended = before !== undefined || semantic.looksInTurn
    if (isContended) this.#endTurn ??= await semantic.turns.take()
    return semantic.meaningOf(value, known, notes)
  }

  end(): void {
    this.#endTurn?.()
  }
}

function endless(prerequisite: PutPrerequisite): PrestigeError {
  if (prerequisite === 'stage') {
    const message = 'A value in parts cannot be asked to be put in parts.'
    return new PrestigeError('BODY_MISUSE', message)
  }
  if (typeof prerequisite === 'object') {
    const message = 'The content of this value was replaced every time it was read. Try again.'
    return new PrestigeError('CONTENDED', message)
  }
  const message = 'Too many concurrent writes of similar texts. Try again.'
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
