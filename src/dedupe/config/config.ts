/**
 * Settings of the corpus job: which fingerprints find duplicates, what becomes of them, which copy survives
 * and how much may be lost. One schema, read once; the reference in the docs is made from it.
 */

import * as v from 'valibot'

import type { ShingleProfile } from '../../fingerprint/index.ts'
import { flag, given, oneOf, readOptions } from '../../platform/options.ts'

const profile = v.optional(
  given<ShingleProfile>(
    (value) => typeof value === 'string',
    'auto, or chars, words or codepoints with an optional -1 to -32',
  ),
  'auto',
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
  oneOf(['drop', 'link'], 'drop: the duplicate is left out. link: it is kept, and told.'),
  'drop',
)

const names = (help: string) =>
  v.optional(v.pipe(v.array(v.string('must be a list of names')), v.description(help)), () => [])

const exact = v.strictObject({
  enabled: v.optional(flag('Texts of the same bytes are duplicates.'), true),
  action,
})

const canonical = v.strictObject({
  enabled: v.optional(flag('Texts that are the same in canonical form are duplicates.'), true),
  profile: v.optional(
    oneOf(
      ['none', 'whitespace', 'ascii-case', 'unicode'],
      'The form in which texts are compared, by all steps that follow.',
    ),
    'unicode',
  ),
  action,
})

const simhash = v.strictObject({
  enabled: v.optional(flag('Texts whose SimHash differs in few bits are duplicates.'), false),
  distanceMax: v.optional(
    count(0, 'So many bits of 64 may differ, up to 3.', SIMHASH_DISTANCE_MAX),
    SIMHASH_DISTANCE_MAX,
  ),
  profile,
  action,
})

const near = v.strictObject({
  enabled: v.optional(flag('Texts that share most of their shingles are duplicates.'), true),
  threshold: v.optional(share('Minimum Jaccard similarity of near duplicates.'), 0.8),
  profile,
  slots: v.optional(count(64, 'Slots of a sketch, a multiple of 16 up to 512.')),
  bands: v.optional(count(1, 'Bands of a sketch; chosen by threshold if not given.')),
  rows: v.optional(count(1, 'Slots in a band.')),
  evidence: v.optional(
    oneOf(['hashes', 'text', 'sketch'], 'What is kept to measure by. With sketch, by estimate.'),
    'hashes',
  ),
  candidatesMax: v.optional(count(1, 'The most candidates that are measured.'), 100),
  bucketMax: v.optional(count(1, 'Buckets of more documents are passed over.'), 1000),
  action,
})

const chunks = v.strictObject({
  enabled: v.optional(
    flag('Documents that share passages are linked, and the passages told.'),
    false,
  ),
  bytes: v.optional(
    count(256, 'Mean length of a passage in bytes of canonical text, a power of two.'),
    256,
  ),
  shareMin: v.optional(
    share('Overlap, as a share of the document, from which on it is told.'),
    0.1,
  ),
})

const semantic = v.strictObject({
  enabled: v.optional(flag('Documents that mean the same are linked, and told.'), false),
  model: v.optional(
    v.pipe(
      v.string('must be a name'),
      v.description('A model of `prestige models`, or the directory of one.'),
    ),
    'all-MiniLM-L6-v2',
  ),
  threshold: v.optional(
    share('Minimum cosine. None fits all models: `prestige tune --semantic` finds yours.'),
  ),
  textBytesMax: v.optional(
    count(1, 'Longer texts are not compared by meaning; they are never cut off.'),
    65_536,
  ),
  action: v.optional(oneOf(['link'], 'link: it is kept, and told.'), 'link'),
})

const KEEP = ['first', 'longest', 'newest', 'quality', 'source', 'type'] as const
export type KeepRule = (typeof KEEP)[number]

export const dedupeSchema = v.strictObject({
  exact: v.optional(exact, {}),
  canonical: v.optional(canonical, {}),
  simhash: v.optional(simhash, {}),
  near: v.optional(near, {}),
  chunks: v.optional(chunks, {}),
  semantic: v.optional(semantic, {}),
  keep: v.optional(
    v.pipe(
      v.array(oneOf(KEEP, 'A rule.')),
      v.description('Which copy survives: rules in order, the next where one does not tell.'),
    ),
    () => ['first' as const],
  ),
  sourcePriority: names('Sources, the best first. Others come after all of these.'),
  typePriority: names('Document types, the best first.'),
  maxDrop: v.optional(share('The run stops if a source would lose more than this share.'), 1),
  maxCluster: v.optional(count(2, 'The run stops if so many documents or more are one cluster.')),
  orderIndependent: v.optional(
    flag('The same documents give the same survivors in whatever order they come.'),
    false,
  ),
})

export type DedupeInput = v.InferInput<typeof dedupeSchema>
export type DedupeConfig = v.InferOutput<typeof dedupeSchema>

export function readConfig(input: DedupeInput): Readonly<DedupeConfig> {
  return readOptions(dedupeSchema, input, 'The dedupe config')
}
