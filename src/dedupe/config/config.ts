/**
 * Settings of the corpus job: which fingerprints find duplicates, what becomes of them, which copy survives
 * and how much may be lost. One schema, read once; the reference in the docs is made from it.
 */

import * as v from 'valibot'

import { judgementOptions } from '../../compare/index.ts'
import { defaultThreshold } from '../../match/index.ts'
import type { ShingleProfile } from '../../fingerprint/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { flag, given, oneOf, readOptions } from '../../platform/options.ts'
import { CONTAINMENT_MIN } from '../../match/index.ts'
import type { DedupeConfig, DedupeSettings } from './options.ts'

export type { DedupeConfig, DedupeSettings, KeepRule } from './options.ts'

const PROFILE = /^(?:adaptive|auto|(?:chars|words|codepoints)(?:-(?:[1-9]|[12]\d|3[0-2]))?)$/

const profile = v.optional(
  given<ShingleProfile>(
    (value) => typeof value === 'string' && PROFILE.test(value),
    'adaptive, auto, or chars, words or codepoints with an optional -1 to -32',
  ),
)

function count(from: number, help: string, to = Infinity): v.GenericSchema<number> {
  const rule = `must be a whole number from ${from}${to === Infinity ? '' : ` to ${to}`}`
  return v.pipe(
    v.number(rule),
    v.integer(rule),
    v.minValue(from, rule),
    v.maxValue(to, rule),
    v.description(help),
  )
}

/** What four bands of 64 bits are sure to find. */
const SIMHASH_DISTANCE_MAX = 3

function share(help: string): v.GenericSchema<number> {
  const rule = 'must be a number from 0 to 1'
  return v.pipe(v.number(rule), v.minValue(0, rule), v.maxValue(1, rule), v.description(help))
}

const action = v.optional(
  oneOf(
    ['drop', 'link'],
    'drop: leave the duplicate out. link: keep it, and list it in duplicates.jsonl.',
  ),
  'drop',
)

const names = (help: string) =>
  v.optional(v.pipe(v.array(v.string('must be a list of names')), v.description(help)), () => [])

const exact = v.strictObject({
  enabled: v.optional(flag('Texts with the same bytes are duplicates.'), true),
  action,
})

const canonical = v.strictObject({
  enabled: v.optional(flag('Texts with the same canonical form are duplicates.'), true),
  profile: v.optional(
    oneOf(
      ['none', 'whitespace', 'ascii-case', 'unicode', 'unaccented'],
      'Canonical form in which this and all later methods compare texts.',
    ),
    'unicode',
  ),
  action,
})

const simhash = v.strictObject({
  enabled: v.optional(flag('Texts whose SimHash differs in few bits are duplicates.'), false),
  distanceMax: v.optional(
    count(0, 'Maximum number of different bits of 64, up to 3.', SIMHASH_DISTANCE_MAX),
    SIMHASH_DISTANCE_MAX,
  ),
  profile,
  action,
})

const SLOTS = 'must be a multiple of 16 from 64 to 512'
const slots = v.pipe(
  v.number(SLOTS),
  v.multipleOf(16, SLOTS),
  v.minValue(64, SLOTS),
  v.maxValue(512, SLOTS),
  v.description('Slots of a sketch, a multiple of 16 up to 512.'),
)

const near = v.strictObject({
  enabled: v.optional(flag('Texts that share most of their shingles are duplicates.'), true),
  threshold: v.optional(
    share('Minimum Jaccard similarity of their shingles: 0.8, or 0.5 with precision.'),
  ),
  profile,
  slots: v.optional(slots),
  bands: v.optional(count(1, 'Bands of a sketch; derived from threshold by default.')),
  rows: v.optional(count(1, 'Slots in a band.')),
  evidence: v.optional(
    oneOf(
      ['text', 'hashes', 'sketch'],
      'What is stored to measure similarity: text or hashes exactly, sketch by estimate.',
    ),
  ),
  ...judgementOptions,
  candidatesMax: v.optional(count(1, 'Maximum number of candidates that are measured.'), 100),
  bucketMax: v.optional(count(1, 'Buckets with more documents are skipped.'), 1000),
  action,
})

const containment = v.strictObject({
  enabled: v.optional(flag('Find documents that contain another, or are contained in it.'), false),
  min: v.optional(share('Minimum share of either document that is in the other.'), CONTAINMENT_MIN),
  action: v.optional(
    oneOf(
      ['link', 'drop', 'cut'],
      'link: keep both, and list them in duplicates.jsonl. drop: leave out what is contained in a kept document. cut: keep a document without the passages that a kept document has.',
    ),
    'link',
  ),
})

const chunks = v.strictObject({
  enabled: v.optional(flag('Link documents that share passages, and list the passages.'), false),
  bytes: v.optional(
    count(256, 'Mean length of a passage in bytes of canonical text, a power of two.'),
    256,
  ),
  shareMin: v.optional(share('Minimum share of a document that must be in other documents.'), 0.1),
})

const passages = v.strictObject({
  action: v.optional(
    oneOf(
      ['off', 'list', 'cut'],
      'list: list passages that many kept documents share in passages.jsonl. cut: also cut them from the kept texts.',
    ),
    'off',
  ),
  documentsMin: v.optional(count(2, 'Minimum number of kept documents that have a passage.'), 10),
  wordsMin: v.optional(
    count(
      4,
      'Minimum words of a passage; two characters of scripts without spaces are a word.',
      1000,
    ),
    12,
  ),
  by: v.optional(
    oneOf(
      ['words', 'lines'],
      'words: passages begin and end at any word. lines: they are whole lines, for code and logs.',
    ),
    'words',
  ),
})

const semantic = v.strictObject({
  enabled: v.optional(flag('Link documents with the same meaning.'), false),
  model: v.optional(
    v.pipe(
      v.string('must be a name'),
      v.description('One of `prestige models`, or a directory with a model.'),
    ),
    'all-MiniLM-L6-v2',
  ),
  threshold: v.optional(
    share('Minimum cosine similarity. It depends on your texts: use `prestige tune --semantic`.'),
  ),
  textBytesMax: v.optional(
    count(1, 'Longer texts are not compared by meaning. Texts are never truncated.'),
    65_536,
  ),
  action: v.optional(
    oneOf(['link'], 'link: keep the document, and list it in duplicates.jsonl.'),
    'link',
  ),
})

const MEMORY_MIN = 100_000
const memoryRule = 'must be a whole number of bytes from 100KB, such as 2GB'

/** Of a call, not of a state: it decides nothing. */
export const memoryOption = v.optional(
  v.pipe(
    v.number(memoryRule),
    v.integer(memoryRule),
    v.minValue(MEMORY_MIN, memoryRule),
    v.description(
      'Memory for the indexes of near and simhash, such as 2GB. What does not fit is searched on disk, with the same result. No bound by default.',
    ),
  ),
)

const KEEP = ['first', 'longest', 'newest', 'quality', 'source', 'type'] as const

export const dedupeSchema = v.strictObject({
  exact: v.optional(exact, {}),
  canonical: v.optional(canonical, {}),
  simhash: v.optional(simhash, {}),
  near: v.optional(near, {}),
  containment: v.optional(containment, {}),
  chunks: v.optional(chunks, {}),
  passages: v.optional(passages, {}),
  semantic: v.optional(semantic, {}),
  keep: v.optional(
    v.pipe(
      v.array(oneOf(KEEP, 'A rule.')),
      v.description(
        'Which copy to keep: rules in order; a later rule decides if earlier ones are equal.',
      ),
    ),
    () => ['first' as const],
  ),
  sourcePriority: names('Sources for keep source, the best first. Other sources come last.'),
  typePriority: names('Document types for keep type, the best first.'),
  maxDrop: v.optional(
    share('Stop the run if more than this share of a source would be dropped.'),
    1,
  ),
  maxCluster: v.optional(count(2, 'Stop the run if a cluster has this many documents or more.')),
  orderIndependent: v.optional(
    flag('The result does not depend on the order of the documents.'),
    false,
  ),
}) satisfies v.GenericSchema<DedupeSettings, DedupeConfig>

/** The least similarity of near duplicates. */
export function nearThreshold({ near: step }: DedupeConfig): number {
  return step.threshold ?? defaultThreshold(step.precision !== undefined)
}

export function readConfig(input: DedupeSettings): Readonly<DedupeConfig> {
  const config = readOptions(dedupeSchema, input, 'The dedupe config')
  if (config.passages.action === 'cut' && config.containment.action === 'cut') throw cutTwice()
  return config
}

/** Places are of the whole text: what one has cut, the other could not restore. */
function cutTwice(): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    'containment.action cut and passages.action cut cannot be combined: what is listed as cut is restored by its place in the whole text. Use one of them, or set the other to link or list.',
  )
}
