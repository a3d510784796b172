/** Opens the corpus job: chooses the backend, reads the config, checks what the state was written with. */

import {
  type Backend,
  type LocationOptions,
  openBackend,
  OverlayBackend,
} from '../backends/index.ts'
import { type DedupeInput, type KeepRule, readConfig } from './config/config.ts'
import type { Decision } from './decision/decision.ts'
import { Deduper, type DedupeStreamOptions } from './deduper.ts'
import type { DocumentLike } from './decision/prepare.ts'
import type { Prefer } from './decision/rank.ts'
import { mergeRaw } from './config/raw.ts'
import { dedupeSpaces } from './rows.ts'
import { lastConfig, State } from './state.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { Embedder } from '../semantic/index.ts'

export interface DedupeOptions extends Omit<DedupeInput, 'keep'> {
  /**
   * Which copy survives: rules in order, or a function that compares two documents by what is known of them, as
   * for `sort`: negative if the first is the better one. A function must say the same of the same documents every
   * time, and cannot be given with `orderIndependent`.
   */
  readonly keep?: KeepRule[] | Prefer | undefined
  readonly namespace?: string | undefined
  readonly durability?: LocationOptions['durability']
  /** What makes vectors of meaning, in place of `semantic.model`. */
  readonly embedder?: Embedder | undefined
  /** Whether a missing directory is made (default), or an error. */
  readonly create?: boolean | undefined
  readonly clock?: (() => number) | undefined
  /** What is not said is as the last run of the state had it, instead of the defaults. */
  readonly asBefore?: boolean | undefined
}

/** Opens the state at a location: a directory, `memory:`, or a backend of one's own, which is closed with it. */
export async function openDedupe(
  location: string | Backend,
  options: DedupeOptions = {},
): Promise<Deduper> {
  const {
    namespace,
    durability,
    create,
    clock,
    asBefore = false,
    keep,
    embedder,
    ...input
  } = options
  const prefer = typeof keep === 'function' ? keep : undefined
  if (prefer && input.orderIndependent) throw notBoth()
  const config: DedupeInput = typeof keep === 'object' ? { ...input, keep } : input
  readConfig(config)
  const spaces = dedupeSpaces
  const backend =
    typeof location === 'string'
      ? await openBackend(location, { spaces, namespace, durability, create, clock })
      : location
  try {
    const known = asBefore ? await lastConfig(backend) : undefined
    const whole = readConfig(merged(known, config))
    const state = await State.open(backend, whole, { prefer, embedder })
    return new Deduper(state, () => new OverlayBackend(backend))
  } catch (error) {
    if (typeof location === 'string') await backend.close().catch(() => {})
    throw error
  }
}

/** One stream over a state of its own: in memory, or at a location. */
export async function* dedupe(
  documents: AsyncIterable<DocumentLike> | Iterable<DocumentLike>,
  options: DedupeOptions & DedupeStreamOptions & { readonly location?: string | undefined } = {},
): AsyncGenerator<Decision> {
  const { location = 'memory:', run, signal, against, ...others } = options
  const opened = await openDedupe(location, others)
  try {
    yield* opened.dedupe(documents, { run, signal, against })
  } finally {
    await opened.close()
  }
}

/** Section by section: what is said of one setting leaves its neighbours as they were. */
function merged(known: DedupeInput | undefined, said: DedupeInput): DedupeInput {
  return known ? mergeRaw({ ...known }, { ...said }) : said
}

function notBoth(): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    'keep cannot be a function with orderIndependent: documents are put in order by the rules.',
  )
}
