/**
 * Where a config of the other spelling keeps its fingerprints, as the location of a state. `backend` selects; the
 * settings of the other backends are not used, as there.
 *
 * There, every kind of fingerprint has a table of its own, PREFIX-simhash and so on. Here one table, PREFIX-rows, has
 * all of them and the ledger, so that a document is decided about in one transaction.
 */

import { PrestigeError } from '../../platform/errors.ts'
import { isRaw, mergeRaw, type Raw } from './raw.ts'

const BACKENDS = ['dynamodb', 'local', 's3'] as const

/** A table, what its name ends in, and the method whose fingerprints it is for. */
const TABLES = {
  simhash_table: { ending: '-simhash', method: { simhash: { enabled: true } } },
  minhash_table: { ending: '-minhash', method: { near: { enabled: true } } },
  chunk_table: { ending: '-chunk', method: { chunks: { enabled: true } } },
  processed_table: { ending: '-processed', method: {} },
} as const

const DYNAMO_NAMES = ['region', 'prefix', 'endpoint', 'endpoint_url', ...Object.keys(TABLES)]

/** The setting `state`, and the methods that have a table; nothing if nothing is said about it. */
export function seedState(said: Raw, tell: (note: string) => void): Raw {
  const backend = backendOf(said)
  if (backend === undefined) return {}
  if (backend === 's3') throw notOnS3()
  if (backend === 'local') return { state: rootOf(said) }
  return dynamoState(said, tell)
}

function backendOf({ backend, root_path: root, storage, dynamodb }: Raw): string | undefined {
  if (backend !== undefined) {
    const found = BACKENDS.find((name) => name === backend)
    if (found) return found
    throw invalid(
      'backend',
      `must be one of ${BACKENDS.join(', ')}, not ${JSON.stringify(backend)}`,
    )
  }
  const type = isRaw(storage) ? storage['type'] : undefined
  if (type === 's3') return 's3'
  if (dynamodb !== undefined) {
    throw invalid('dynamodb', 'has no effect without backend: dynamodb. Add it')
  }
  return root === undefined ? undefined : 'local'
}

function rootOf({ root_path: root, storage }: Raw): string {
  const type = isRaw(storage) ? (storage['type'] ?? 'local') : 'local'
  if (type !== 'local') {
    throw invalid(
      'storage.type',
      `is ${JSON.stringify(type)}, and backend is local. Make them agree`,
    )
  }
  if (typeof root === 'string' && root !== '') return root
  throw invalid('root_path', 'must name a directory for backend: local')
}

function notOnS3(): PrestigeError {
  return invalid(
    'backend',
    's3 cannot be used: fingerprints are not kept on S3, because a decision needs a transaction. Write backend: dynamodb with dynamodb: { region, prefix } for several machines, or backend: local with root_path for one',
  )
}

function dynamoState(said: Raw, tell: (note: string) => void): Raw {
  const own = said['dynamodb']
  if (!isRaw(own)) throw invalid('dynamodb', 'needs region and prefix for backend: dynamodb')
  for (const name of Object.keys(own)) {
    if (DYNAMO_NAMES.includes(name)) continue
    throw invalid(`dynamodb.${name}`, `is not an option. There are ${DYNAMO_NAMES.join(', ')}`)
  }
  const region = textOf(own, 'region')
  if (region === undefined) throw invalid('dynamodb.region', 'is missing')
  const prefix = prefixOf(own)
  const endpoint = textOf(own, 'endpoint') ?? textOf(own, 'endpoint_url')
  const query = endpoint === undefined ? '' : `?endpoint=${endpoint}`
  const state = `dynamodb://${region}/${prefix}${query}`
  const unused = ['root_path', 'storage'].filter((name) => said[name] !== undefined)
  const others = unused.length > 0 ? ` ${unused.join(' and ')} are for other backends.` : ''
  tell(`the state is ${state}, with all fingerprints in the table ${prefix}-rows.${others}`)
  const methods = Object.entries(TABLES).flatMap(([name, { method }]) =>
    own[name] === undefined ? [] : [method],
  )
  return methods.reduce<Raw>(mergeRaw, { state })
}

function textOf(own: Raw, name: string): string | undefined {
  const value = own[name]
  if (value === undefined || typeof value === 'string') return value
  throw invalid(`dynamodb.${name}`, `must be a string, not ${JSON.stringify(value)}`)
}

/** What the names of the tables have in common. */
function prefixOf(own: Raw): string {
  const prefixes = new Set<string>()
  const said = textOf(own, 'prefix')
  if (said !== undefined) prefixes.add(said)
  for (const [name, { ending }] of Object.entries(TABLES)) {
    const table = own[name]
    if (table === undefined) continue
    if (typeof table !== 'string' || !table.endsWith(ending) || table === ending) {
      throw invalid(
        `dynamodb.${name}`,
        `cannot be ${JSON.stringify(table)}: one table, PREFIX-rows, has all fingerprints, so names must be of the form PREFIX${ending}. Write prefix: NAME in place of the tables`,
      )
    }
    prefixes.add(table.slice(0, -ending.length))
  }
  const [prefix, ...others] = prefixes
  if (prefix === undefined) throw invalid('dynamodb.prefix', 'is missing: the table is PREFIX-rows')
  if (others.length === 0) return prefix
  throw invalid(
    'dynamodb',
    `names tables of several prefixes (${[...prefixes].join(', ')}), and one table, PREFIX-rows, has all fingerprints. Write prefix: NAME in place of the tables`,
  )
}

function invalid(name: string, why: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', `global_fingerprints.${name} ${why}.`)
}
