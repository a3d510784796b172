/**
 * Understands a config of the other spelling, `global_fingerprints` with its sections, so that it need not be
 * rewritten. It selects the methods and where fingerprints are kept; what cannot be expressed here is refused by name,
 * with what to write instead.
 */

import { PrestigeError } from '../../platform/errors.ts'
import { nearest } from '../../platform/did-you-mean.ts'
import { isRaw, mergeRaw, nested, type Raw } from './raw.ts'
import { seedState } from './seed-state.ts'

type Tell = (note: string) => void
type Refuse = (why: string) => never
/** A setting here, made of one there. */
type Rule = (value: unknown, refuse: Refuse, tell: Tell) => Raw | undefined

const to =
  (...path: string[]): Rule =>
  (value) =>
    nested(path, value)

/** Settings of where fingerprints are: `seedState` reads them together. */
const ELSEWHERE: Rule = () => undefined

const shingles: Rule = (value) => nested(['near', 'profile'], `chars-${String(value)}`)

const RULES: Readonly<Record<string, Rule>> = {
  enabled: (value, refuse) => {
    if (value === false) refuse('dedupe works with fingerprints: remove it, or do not run dedupe')
    return undefined
  },
  root_path: ELSEWHERE,
  backend: ELSEWHERE,
  storage: ELSEWHERE,
  dynamodb: ELSEWHERE,
  'simhash.enabled': to('simhash', 'enabled'),
  'simhash.max_hamming': to('simhash', 'distanceMax'),
  'simhash.max_hamming_distance': to('simhash', 'distanceMax'),
  'simhash.hamming_threshold': to('simhash', 'distanceMax'),
  'simhash.threshold': to('simhash', 'distanceMax'),
  'simhash.max_tokens': (_value, refuse) => refuse('texts are always used whole: remove it'),
  'minhash.enabled': to('near', 'enabled'),
  'minhash.threshold': to('near', 'threshold'),
  'minhash.num_perm': to('near', 'slots'),
  'minhash.bands': to('near', 'bands'),
  'minhash.rows': to('near', 'rows'),
  'minhash.ngram': shingles,
  'minhash.ngram_size': shingles,
  'chunk_hash.enabled': to('chunks', 'enabled'),
  'chunk_hash.chunk_size': (value, _refuse, tell) => {
    const bytes = 2 ** Math.max(8, Math.round(Math.log2(Number(value))))
    tell(`chunk boundaries depend on the content; the mean length is ${bytes} bytes.`)
    return nested(['chunks', 'bytes'], bytes)
  },
  'chunk_hash.overlap': (value, refuse) => {
    if (value !== 0)
      refuse('chunk boundaries depend on the content, and need no overlap: remove it')
    return undefined
  },
  source_priority: (value) => ({ sourcePriority: value }),
  document_type_priority: (value) => ({
    typePriority: value,
    input: { fields: { type: 'document_type' } },
  }),
}

export function seedNames(values: Raw, tell: Tell): Raw {
  const { global_fingerprints: said, ...others } = values
  if (said === undefined || !isRaw(said)) return values
  let read: Raw = seedState(said, (note) => tell(`global_fingerprints: ${note}`))
  if (read['state'] !== undefined && others['state'] !== undefined) {
    const why = 'state says where fingerprints are as well; remove one of them'
    throw refusal('backend', JSON.stringify(said['backend']), why)
  }
  for (const [name, value] of flattened(said)) {
    const refuse: Refuse = (why) => {
      throw refusal(name, JSON.stringify(value), why)
    }
    const rule = RULES[name] ?? unknown(name)
    const note = (text: string) => tell(`global_fingerprints.${name}: ${text}`)
    read = mergeRaw(read, rule(value, refuse, note) ?? {})
  }
  return mergeRaw({ ...keepOf(said), ...read }, others)
}

function refusal(name: string, value: string, why: string): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    `global_fingerprints.${name}: ${value} cannot be used: ${why}.`,
  )
}

function unknown(name: string): Rule {
  return (_value, refuse) => {
    const meant = nearest(name, Object.keys(RULES))
    return refuse(`there is no such setting${meant ? `; did you mean ${meant}?` : ': remove it'}`)
  }
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
