/**
 * Understands a config of the other spelling, `global_fingerprints` with its sections, so that it need not be
 * rewritten. What it says and has no counterpart here is reported, never ignored in silence.
 */

import { isRaw, mergeRaw, nested, type Raw } from './raw.ts'

type Tell = (warning: string) => void
/** A setting here, made of one there. */
type Rule = (value: unknown, tell: Tell) => Raw | undefined

const to =
  (...path: string[]): Rule =>
  (value) =>
    nested(path, value)

const without =
  (why: string): Rule =>
  (_value, tell) => {
    tell(why)
    return undefined
  }

const STORAGE = without('the location of fingerprints is given with --state.')

const RULES: Readonly<Record<string, Rule>> = {
  enabled: (value, tell) => {
    if (value === false) tell('enabled: false has no effect; do not run dedupe instead.')
    return undefined
  },
  root_path: STORAGE,
  backend: STORAGE,
  storage: STORAGE,
  dynamodb: STORAGE,
  'simhash.enabled': to('simhash', 'enabled'),
  'simhash.max_hamming': to('simhash', 'distanceMax'),
  'simhash.max_hamming_distance': to('simhash', 'distanceMax'),
  'simhash.hamming_threshold': to('simhash', 'distanceMax'),
  'simhash.threshold': to('simhash', 'distanceMax'),
  'simhash.max_tokens': without('texts are always used whole.'),
  'minhash.enabled': to('near', 'enabled'),
  'minhash.threshold': to('near', 'threshold'),
  'minhash.num_perm': to('near', 'slots'),
  'minhash.bands': to('near', 'bands'),
  'minhash.rows': to('near', 'rows'),
  'minhash.ngram': (value) => nested(['near', 'profile'], `chars-${String(value)}`),
  'minhash.ngram_size': (value) => nested(['near', 'profile'], `chars-${String(value)}`),
  'chunk_hash.enabled': to('chunks', 'enabled'),
  'chunk_hash.chunk_size': (value, tell) => {
    const bytes = 2 ** Math.max(8, Math.round(Math.log2(Number(value))))
    tell(`chunk boundaries depend on the content; the mean length is ${bytes} bytes.`)
    return nested(['chunks', 'bytes'], bytes)
  },
  'chunk_hash.overlap': without('chunk boundaries depend on the content, and need no overlap.'),
  source_priority: (value) => ({ sourcePriority: value }),
  document_type_priority: (value) => ({
    typePriority: value,
    input: { fields: { type: 'document_type' } },
  }),
}

export function seedNames(values: Raw, tell: Tell): Raw {
  const { global_fingerprints: said, ...others } = values
  if (said === undefined || !isRaw(said)) return values
  let read: Raw = {}
  for (const [name, value] of flattened(said)) {
    const rule = RULES[name]
    const warn = (warning: string) => tell(`global_fingerprints.${name}: ${warning}`)
    if (rule) read = mergeRaw(read, rule(value, warn) ?? {})
    else warn('has no counterpart and no effect.')
  }
  return mergeRaw({ ...keepOf(said), ...read }, others)
}

/** There, the type of a document counts before its source, where either is said. */
function keepOf(said: Raw): Raw {
  const rules = [
    ...(said['document_type_priority'] === undefined ? [] : ['type']),
    ...(said['source_priority'] === undefined ? [] : ['source']),
  ]
  return rules.length > 0 ? { keep: [...rules, 'first'] } : {}
}

function flattened(said: Raw): (readonly [string, unknown])[] {
  return Object.entries(said).flatMap(([name, value]) => {
    const isSection = isRaw(value) && Object.keys(RULES).some((rule) => rule.startsWith(`${name}.`))
    if (!isSection) return [[name, value] as const]
    return Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one] as const)
  })
}
