/**
 * Why a document was kept, dropped or linked: by which method, against which document, in which cluster, and what
 * would have to change for another outcome. It leaves no trace in the state.
 */

import type { RowVeto } from '../../ledger/index.ts'
import { type DedupeConfig, nearThreshold, readConfig } from '../config/config.ts'
import { isLeftBehind } from '../decision/cluster.ts'
import { isMethod, type Method } from '../decision/decision.ts'
import { hex } from '../names.ts'
import { readHead } from '../runs.ts'
import type { State } from '../state.ts'
import {
  clusterAround,
  clusterInfo,
  type DocumentCluster,
  documentsIn,
  type StoredCluster,
} from './clusters.ts'
import { type DocumentFilter, type DocumentInfo, infoOf, storedOf } from './document-info.ts'
import { documentsOfKeys, type StoredDocument } from './find-documents.ts'
import { nearestTo, type NearKey, searchedFrom } from './nearest.ts'
import { type OtherOutcome, otherOutcomes } from './other-outcomes.ts'
import { type FoundText, textsOf } from './texts.ts'

/** A document that is similar, but not a duplicate. */
export interface NearDocument extends DocumentInfo {
  readonly similarity: number
  /** What keeps the two apart. */
  readonly vetoes?: readonly RowVeto[]
}

export interface DocumentExplanation extends DocumentInfo {
  /** Milliseconds since 1970. */
  readonly runStartedAt?: number
  /** How it was found to be like another; absent where it was like none. */
  readonly method?: Method
  /** To `against`; of containment, the share of it that is in `against`. */
  readonly similarity?: number
  /** The least similarity that this method asks for. */
  readonly threshold?: number
  /** What it was measured against. */
  readonly against?: DocumentInfo
  /** What is kept in its place now. */
  readonly kept?: DocumentInfo
  /** Documents that were kept until this one came. */
  readonly supersedes?: readonly DocumentInfo[]
  /** Why it is kept although it is similar. */
  readonly vetoes?: readonly RowVeto[]
  /** Of containment: the share of `against` that is in it. */
  readonly shareOfOther?: number
  /** It is kept without passages that other documents have. */
  readonly isCut?: true
  /**
   * It was dropped for a text that the document it was measured against has no more, so no copy of it may be kept:
   * when its file is processed again, it is re-evaluated.
   */
  readonly isOrphaned?: true
  /** Full buckets were skipped: a duplicate may have been missed. */
  readonly possibleMiss?: true
  readonly cluster?: DocumentCluster
  /** Of a document that is kept: the most similar others, down to `nearestFrom`. Most are found, and not all. */
  readonly nearest?: readonly NearDocument[]
  readonly nearestFrom?: number
  /** Settings that would have changed the outcome. */
  readonly changes: readonly OtherOutcome[]
}

const MEMBERS = 10
const NEAREST = 3

/** Of all documents of an id; empty if there is none. */
export async function explain(
  state: State,
  id: string,
  filter: DocumentFilter = {},
): Promise<DocumentExplanation[]> {
  const { stored, texts } = await storedOf(state.backend, id, filter)
  const explained: DocumentExplanation[] = []
  for (const document of stored) explained.push(await explainOne(state, document, texts))
  return explained
}

async function explainOne(
  state: State,
  document: StoredDocument,
  texts: Map<string, FoundText>,
): Promise<DocumentExplanation> {
  const { backend } = state
  const { row } = document
  const name = hex(document.key)
  const near = await nearOf(state, document, texts.get(name)?.text)
  const cluster = await clusterAround(backend, row.cluster ?? name, MEMBERS)
  const related = await relatedTo(state, document, cluster, near ?? [])
  const all = [...related.values(), ...(cluster ? documentsIn(cluster) : [])]
  for (const [key, text] of await textsOf(backend, all)) texts.set(key, text)
  const info = (key: string | undefined) => {
    const found = key === undefined ? undefined : related.get(key)
    return found && infoOf(found, texts.get(hex(found.key)))
  }
  const head = await readHead(backend, row.run)
  const { method, similarity, againstKey, keptKey } = decisionOf(document, cluster, related)
  const against = info(againstKey)
  const kept = info(keptKey)
  // Runs of older versions have no section of what there was not.
  const config = head ? { ...readConfig({}), ...head.config } : state.config
  const threshold = method && thresholdOf(method, config)
  const nearest = near?.flatMap((one) => nearDocument(one, info(one.key)) ?? [])
  const changes = otherOutcomes(
    {
      row,
      method,
      similarity,
      against: against?.id,
      kept: keptKey === undefined ? undefined : related.get(keptKey)?.row,
      nearest: nearestOf(nearest, state),
    },
    config,
  )
  const centre = row.cluster === undefined ? undefined : related.get(row.cluster)?.row
  const isOut = row.action === 'drop' || row.action === 'superseded'
  const isOrphaned = isOut && row.cluster !== undefined && isLeftBehind(row, centre)
  const supersedes = row.supersedes?.flatMap((key) => info(key) ?? [])
  const clustered = cluster && clusterInfo(cluster, texts)
  return {
    ...infoOf(document, texts.get(name)),
    ...(head && { runStartedAt: head.startedAt }),
    ...(method && { method }),
    ...(similarity !== undefined && { similarity }),
    ...(threshold !== undefined && { threshold }),
    ...(against && { against }),
    ...(kept && !isOrphaned && { kept }),
    ...(supersedes && { supersedes }),
    ...(row.vetoes && { vetoes: row.vetoes }),
    ...(row.containment && { shareOfOther: row.containment.shareOfOther }),
    ...(row.cutFor && row.action === 'link' && { isCut: true as const }),
    ...(isOrphaned && { isOrphaned: true as const }),
    ...(row.possibleMiss && { possibleMiss: true as const }),
    ...(clustered && !isOrphaned && { cluster: clustered }),
    ...(nearest && { nearest, nearestFrom: searchedFrom(state.engine.settings.similarityMin) }),
    // The similarity that they follow from is of a text that is no more.
    changes: isOrphaned ? [] : changes,
  }
}

/** Others are looked for only around what is kept, by its text. */
async function nearOf(
  state: State,
  document: StoredDocument,
  text: string | undefined,
): Promise<NearKey[] | undefined> {
  const { key, row } = document
  if (text === undefined || !state.config.near.enabled) return undefined
  if (row.action !== 'keep' && row.action !== 'link') return undefined
  // What it is a better copy of is no other.
  const own = new Set([hex(key), row.cluster])
  return nearestTo(state, document, text, NEAREST, (other) => !own.has(other))
}

function nearDocument(
  { similarity, vetoes }: NearKey,
  info: DocumentInfo | undefined,
): NearDocument | undefined {
  return info && { ...info, similarity, ...(vetoes.length > 0 && { vetoes }) }
}

function nearestOf(nearest: readonly NearDocument[] | undefined, { engine }: State) {
  const [first] = nearest ?? []
  if (!first) return undefined
  const { id, similarity, vetoes = [] } = first
  const guards = [...new Set(vetoes.map(({ guard }) => guard))]
  return { id, similarity, threshold: engine.settings.similarityMin, guards }
}

/** All documents that its explanation names, by key. */
async function relatedTo(
  { backend }: State,
  { key, row }: StoredDocument,
  cluster: StoredCluster | undefined,
  near: readonly NearKey[],
): Promise<Map<string, StoredDocument>> {
  const keys = [
    row.cluster,
    row.like,
    row.spans?.[0]?.[2],
    row.supersededBy,
    ...(row.supersedes ?? []),
    cluster?.survivor && hex(cluster.survivor.key),
    ...near.map((one) => one.key),
  ]
  const found = await documentsOfKeys(
    backend,
    keys.filter((one) => one !== undefined),
  )
  found.set(hex(key), { key, row })
  return found
}

interface DecisionOf {
  readonly method: Method | undefined
  readonly similarity: number | undefined
  readonly againstKey: string | undefined
  readonly keptKey: string | undefined
}

function decisionOf(
  { key, row }: StoredDocument,
  cluster: StoredCluster | undefined,
  related: ReadonlyMap<string, StoredDocument>,
): DecisionOf {
  const isOut = row.action === 'drop' || row.action === 'superseded'
  const survivor = cluster?.survivor && hex(cluster.survivor.key)
  const keptKey = isOut ? (survivor ?? row.supersededBy ?? row.cluster) : undefined
  const by = row.supersededBy === undefined ? undefined : related.get(row.supersededBy)
  // A centre was not found itself: the copy that superseded it was found near it.
  const isCentre = row.action === 'superseded' && row.cluster === undefined
  const { method, similarity } = isCentre ? (by?.row ?? row) : row
  const againstKey = isCentre ? row.supersededBy : (row.cluster ?? row.like ?? row.spans?.[0]?.[2])
  return {
    method: isMethod(method) ? method : undefined,
    similarity,
    againstKey,
    keptKey: keptKey === hex(key) ? undefined : keptKey,
  }
}

function thresholdOf(method: Method, config: DedupeConfig): number | undefined {
  if (method === 'near') return nearThreshold(config)
  if (method === 'containment') return config.containment.min
  if (method === 'semantic') return config.semantic.threshold
  return method === 'simhash' ? 1 - config.simhash.distanceMax / 64 : undefined
}
