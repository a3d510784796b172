/** Settings of the corpus job, for people: what config.ts checks. Types only. */

import type { JudgementOptions } from '../../compare/index.ts'
import type { ShingleProfile } from '../../fingerprint/index.ts'
import type { WithDefaults } from '../../platform/options.ts'

/** What becomes of a duplicate. `drop`: it is left out. `link`: it is kept, and listed. */
export type DuplicateAction = 'drop' | 'link'
/** Which of two copies survives. */
export type KeepRule = 'first' | 'longest' | 'newest' | 'quality' | 'source' | 'type'

interface Step {
  /** Whether duplicates are looked for in this way. */
  readonly enabled?: boolean | undefined
  /** What becomes of a duplicate. Default: `drop`. */
  readonly action?: DuplicateAction | undefined
}

interface CanonicalStep extends Step {
  /** The form in which texts are compared, by all steps that follow. Default: `unicode`. */
  readonly profile?: 'none' | 'whitespace' | 'ascii-case' | 'unicode' | 'unaccented' | undefined
}

interface SimHashStep extends Step {
  /** So many bits of 64 may differ, up to 3. Default: 3. */
  readonly distanceMax?: number | undefined
  /** How texts are cut into shingles. Default: `adaptive`. */
  readonly profile?: ShingleProfile | undefined
}

interface NearStep extends Step, JudgementOptions {
  /** Minimum Jaccard similarity of near duplicates: from 0 to 1. Default: 0.8. */
  readonly threshold?: number | undefined
  /** How texts are cut into shingles: `adaptive`, `auto`, or `chars`, `words`, `codepoints` with a width (`words-5`). Default: `adaptive`. */
  readonly profile?: ShingleProfile | undefined
  /** Slots of a sketch, a multiple of 16 from 64 to 512. Default: 128; 256 up to a threshold of 0.6. */
  readonly slots?: number | undefined
  /** Bands of a sketch, given with `rows`. Default: chosen by the threshold. */
  readonly bands?: number | undefined
  /** Slots in a band, given with `bands`. Default: chosen by the threshold. */
  readonly rows?: number | undefined
  /** What is kept of a document to measure others by; with `sketch`, similarities are estimates. Default: `text`. */
  readonly evidence?: 'text' | 'hashes' | 'sketch' | undefined
  /** The most candidates that are measured. Default: 100. */
  readonly candidatesMax?: number | undefined
  /** Buckets of more documents are passed over. Default: 1000. */
  readonly bucketMax?: number | undefined
}

interface ChunkStep {
  /** Whether documents that share passages are linked, and the passages listed. Default: `false`. */
  readonly enabled?: boolean | undefined
  /** Mean length of a passage in bytes of canonical text, a power of two. Default: 256. */
  readonly bytes?: number | undefined
  /** Minimum overlap that is listed, as a share of the document. Default: 0.1. */
  readonly shareMin?: number | undefined
}

interface ContainmentStep {
  /** Whether documents that contain another, or are contained in it, are found. Default: `false`. */
  readonly enabled?: boolean | undefined
  /** Minimum share of either document that is in the other: from 0 to 1. Default: 0.8. */
  readonly min?: number | undefined
  /**
   * `link`: both are kept, and listed. `drop`: a document is left out if this share of it is in one that is kept; one
   * that contains another is listed. `cut`: of two that share passages, the one decided later is kept without them, or
   * left out if nothing else is in it. Default: `link`.
   */
  readonly action?: 'link' | 'drop' | 'cut' | undefined
}

interface PassageStep {
  /**
   * `list`: passages that many of the kept documents share are listed in `passages.jsonl`. `cut`: they are also cut from
   * the texts that are written. Default: `off`.
   */
  readonly action?: 'off' | 'list' | 'cut' | undefined
  /** So many kept documents have a passage, or more. Default: 10. */
  readonly documentsMin?: number | undefined
  /** So many words are in a passage, or more; two characters of a script without spaces count as one. Default: 12. */
  readonly wordsMin?: number | undefined
  /** `words`: passages begin and end at any word. `lines`: they are whole lines, for code and logs. Default: `words`. */
  readonly by?: 'words' | 'lines' | undefined
}

interface SemanticStep {
  /** Whether documents that mean the same are linked. Default: `false`. */
  readonly enabled?: boolean | undefined
  /** A model of `prestige models`, or the directory of one. Default: `all-MiniLM-L6-v2`. */
  readonly model?: string | undefined
  /** Minimum cosine of documents that mean the same. No default: `prestige tune --semantic` finds yours. */
  readonly threshold?: number | undefined
  /** Longer texts, in bytes, are not compared by meaning; they are never cut off. Default: 65,536. */
  readonly textBytesMax?: number | undefined
  /** Documents that mean the same are always kept, and listed. */
  readonly action?: 'link' | undefined
}

/** How duplicates are found in a corpus, and which copy survives. */
export interface DedupeSettings {
  /** Texts of the same bytes are duplicates. Enabled by default. */
  readonly exact?: Step | undefined
  /** Texts that are the same in canonical form are duplicates. Enabled by default. */
  readonly canonical?: CanonicalStep | undefined
  /** Texts whose SimHash differs in few bits are duplicates. Disabled by default. */
  readonly simhash?: SimHashStep | undefined
  /** Texts that share most of their shingles are duplicates. Enabled by default. */
  readonly near?: NearStep | undefined
  /** Documents that contain another, or are contained in it. Disabled by default. */
  readonly containment?: ContainmentStep | undefined
  /** Documents that share passages are linked. Disabled by default. */
  readonly chunks?: ChunkStep | undefined
  /** Passages that many documents share, such as licence headers and cookie notices. Disabled by default. */
  readonly passages?: PassageStep | undefined
  /** Documents that mean the same are linked. Disabled by default. */
  readonly semantic?: SemanticStep | undefined
  /** Which copy survives: rules in order, the next where one does not tell. Default: `['first']`. */
  readonly keep?: KeepRule[] | undefined
  /** Sources, the best first, for the rule `source`. Others come after all of these. Default: none. */
  readonly sourcePriority?: string[] | undefined
  /** Document types, the best first, for the rule `type`. Default: none. */
  readonly typePriority?: string[] | undefined
  /** The run stops if a source would lose more than this share: from 0 to 1. Default: 1, so that it never does. */
  readonly maxDrop?: number | undefined
  /** The run stops if so many documents or more are one cluster. Default: no limit. */
  readonly maxCluster?: number | undefined
  /** The same documents give the same survivors in whatever order they come. Default: `false`. */
  readonly orderIndependent?: boolean | undefined
}

/** The settings with their defaults filled in, but for those that an existing state decides: see `state.ts`. */
export interface DedupeConfig {
  readonly exact: WithDefaults<Step, 'enabled' | 'action'>
  readonly canonical: WithDefaults<CanonicalStep, 'enabled' | 'action' | 'profile'>
  readonly simhash: WithDefaults<SimHashStep, 'enabled' | 'action' | 'distanceMax'>
  readonly near: WithDefaults<NearStep, 'enabled' | 'action' | 'candidatesMax' | 'bucketMax'>
  readonly containment: WithDefaults<ContainmentStep, keyof ContainmentStep>
  readonly chunks: WithDefaults<ChunkStep, keyof ChunkStep>
  readonly passages: WithDefaults<PassageStep, keyof PassageStep>
  readonly semantic: WithDefaults<SemanticStep, keyof Omit<SemanticStep, 'threshold'>>
  readonly keep: KeepRule[]
  readonly sourcePriority: string[]
  readonly typePriority: string[]
  readonly maxDrop: number
  readonly maxCluster?: number | undefined
  readonly orderIndependent: boolean
}
