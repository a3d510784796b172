/**
 * Which answer a prompt gets: that of the same prompt, of the same wording, or of the prompt that is nearest in meaning.
 *
 * By meaning, a neighbour is served only if nothing keeps it apart (guards, reranker, judge, or somebody who said that it was
 * wrong) and no other that nothing keeps apart is about as near with another answer: which of the two was meant would be a guess.
 * About as near is relative: of prompts that are hardly apart, a small difference counts, of distant ones only a great one.
 */

import { PrestigeError } from '../platform/errors.ts'
import { type GuardOptions, oppositesOf, type Veto, veto } from '../compare/index.ts'
import { jsonText, type SemanticVeto, type Similar, type Store } from '../store/index.ts'
import {
  answerKey,
  type CacheEntry,
  decodeLabel,
  forgetPrompt,
  idOf,
  labelKey,
  readEntry,
} from './entries.ts'
import type { Address } from './scope.ts'
import type { CacheMethod } from './types.ts'

/** Which guards are asked; `false`: none. */
export type CacheGuards = GuardOptions | false | undefined

export interface FindOptions {
  /** Absent: nothing is compared by meaning. */
  readonly threshold: number | undefined
  readonly margin: number
  readonly guards: CacheGuards
}

/** What was found, and what came of it. */
export interface Found {
  readonly outcome: 'hit' | 'miss' | 'vetoed' | 'ambiguous'
  readonly method?: CacheMethod
  readonly similarity?: number
  readonly id?: string
  readonly entry?: CacheEntry
  readonly vetoes?: readonly SemanticVeto[]
  /** Prompts were found whose answers have gone. */
  readonly hasDead?: boolean
}

const NEIGHBOURS = 16
const SAME_FORM_MAX = 16

export async function find(
  store: Store,
  prompt: string,
  at: Address,
  options: FindOptions,
): Promise<Found> {
  const own = await readEntry(store, at.id)
  if (own?.prompt === prompt) {
    return { outcome: 'hit', method: 'exact', similarity: 1, id: at.id, entry: own }
  }
  const sameForm = await findByForm(store, prompt, at, options)
  if (sameForm || options.threshold === undefined) return sameForm ?? { outcome: 'miss' }
  return findByMeaning(store, prompt, at, { ...options, threshold: options.threshold })
}

async function findByForm(
  store: Store,
  prompt: string,
  at: Address,
  { guards }: FindOptions,
): Promise<Found | undefined> {
  const wanted = { prefix: answerKey(at.form), limit: SAME_FORM_MAX }
  for await (const key of store.keys(wanted)) {
    const id = idOf(key)
    const entry = await readEntry(store, id)
    if (!entry || (await labelOf(store, at.id, id)) === false) continue
    if (promptVetoes(prompt, entry.prompt, guards).length > 0) continue
    return { outcome: 'hit', method: 'near', similarity: 1, id, entry }
  }
  return undefined
}

async function findByMeaning(
  store: Store,
  prompt: string,
  at: Address,
  { threshold, margin, guards }: FindOptions & { readonly threshold: number },
): Promise<Found> {
  const neighbours = await similarTo(store, at.text, rivalFloor(threshold, margin))
  let best: Found | undefined
  let vetoed: Found | undefined
  let hasDead = false
  for (const { firstKey, similarity, vetoes: found = [] } of neighbours) {
    const id = idOf(firstKey)
    if (!id.startsWith(`${at.scope}/`)) continue
    if (best?.similarity !== undefined && isFarther(similarity, best.similarity, margin)) break
    const entry = await readEntry(store, id)
    if (!entry) {
      hasDead = true
      await forgetPrompt(store, id)
      continue
    }
    const vetoes = [...found, ...oppositeVetoes(prompt, entry.prompt, guards)]
    const neighbour = { method: 'semantic', similarity, id, entry, vetoes } as const
    if (vetoes.length > 0 || (await labelOf(store, at.id, id)) === false) {
      if (similarity >= threshold) vetoed ??= { outcome: 'vetoed', ...neighbour }
    } else if (best) {
      if (isSameAnswer(best.entry, entry)) continue
      return { ...best, outcome: 'ambiguous', hasDead }
    } else if (similarity >= threshold) best = { outcome: 'hit', ...neighbour }
    else break
  }
  return { ...(best ?? vetoed ?? { outcome: 'miss' }), hasDead }
}

/** Whether a prompt is so much farther than the nearest that it was not meant. Without a margin, all others are. */
function isFarther(similarity: number, nearest: number, margin: number): boolean {
  if (margin === 0) return true
  return similarity < nearest && (1 - similarity) * (1 - margin) >= 1 - nearest
}

/** What is less similar is farther by the margin than anything above the threshold. */
function rivalFloor(threshold: number, margin: number): number {
  return Math.max(1e-6, 1 - (1 - threshold) / Math.max(1e-6, 1 - margin))
}

/** What keeps two prompts apart, whatever their similarity. */
export function promptVetoes(own: string, other: string, guards: CacheGuards): Veto[] {
  if (guards === false) return []
  return [...veto(own, other, guards), ...oppositeVetoes(own, other, guards)]
}

/** Opposites are content words: of two questions, one is about the contrary. */
function oppositeVetoes(own: string, other: string, guards: CacheGuards): Veto[] {
  if (guards === false || guards?.words === false) return []
  const found = oppositesOf(own, other)
  return found ? [{ guard: 'words', ...found }] : []
}

/** What is too long to be compared is like nothing. */
async function similarTo(store: Store, text: string, threshold: number): Promise<Similar[]> {
  try {
    return await store.similar(text, { limit: NEIGHBOURS, threshold, vetoed: true })
  } catch (error) {
    if (error instanceof PrestigeError && error.code === 'UNREADABLE_VALUE') return []
    throw error
  }
}

function isSameAnswer(one: CacheEntry | undefined, other: CacheEntry): boolean {
  return one !== undefined && jsonText(one.answer) === jsonText(other.answer)
}

async function labelOf(store: Store, asked: string, served: string): Promise<boolean | undefined> {
  const bytes = await store.get(labelKey(asked, served))
  return bytes && decodeLabel(bytes).isRight
}
