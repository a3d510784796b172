/**
 * API keys: made here, shown once, and kept as SHA-256. A key is `prestige_ID_SECRET`; its secret has 256 random bits, so
 * a plain hash keeps it as well as a slow one would.
 */

import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import * as v from 'valibot'

import { AtomicFile } from '../../platform/atomic-file.ts'
import { codeOf, PrestigeError } from '../../platform/errors.ts'
import { type Scope, scopes } from '../http/route.ts'

const FORMAT = 1
const KEY = /^prestige_([0-9a-f]{12})_([\w-]{43})$/

const keyRow = v.strictObject({
  id: v.string(),
  name: v.string(),
  scope: v.picklist(scopes),
  namespaces: v.optional(v.array(v.string())),
  requestsPerSecond: v.optional(v.pipe(v.number(), v.minValue(0))),
  bytesPerSecond: v.optional(v.pipe(v.number(), v.minValue(0))),
  createdAt: v.number(),
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
})

const keyFile = v.strictObject({ format: v.literal(FORMAT), keys: v.array(keyRow) })

/** A key, as it is kept: without its secret. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly scope: Scope
  /** Those it may use; absent: all. */
  readonly namespaces?: readonly string[] | undefined
  readonly requestsPerSecond?: number | undefined
  readonly bytesPerSecond?: number | undefined
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Of the whole key, in hex. */
  readonly sha256: string
}

export type NewKey = Pick<
  ApiKey,
  'name' | 'scope' | 'namespaces' | 'requestsPerSecond' | 'bytesPerSecond'
>

/** The secret is in no other place: whoever loses it needs a new key. A rate of 0 is refused: it would allow nothing. */
export function makeKey(
  wanted: NewKey,
  now: number,
): { readonly key: ApiKey; readonly secret: string } {
  for (const name of ['requestsPerSecond', 'bytesPerSecond'] as const) {
    const rate = wanted[name] ?? Infinity
    if (!(rate > 0))
      throw new PrestigeError('INVALID_OPTIONS', `${name} is a number greater than 0, not ${rate}.`)
  }
  const id = randomBytes(6).toString('hex')
  const secret = `prestige_${id}_${randomBytes(32).toString('base64url')}`
  return { key: { ...wanted, id, createdAt: now, sha256: hashOf(secret).toString('hex') }, secret }
}

function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

/** Whether one of the keys is the secret that was sent. The comparison takes as long whatever differs. */
export function keyOf(keys: ReadonlyMap<string, ApiKey>, sent: string): ApiKey | undefined {
  const [, id = ''] = KEY.exec(sent) ?? []
  const key = keys.get(id)
  const expected = key ? Buffer.from(key.sha256, 'hex') : Buffer.alloc(32)
  return timingSafeEqual(hashOf(sent), expected) ? key : undefined
}

/** A file that is missing has no keys. */
export async function readKeys(path: string): Promise<ApiKey[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return []
  try {
    return v.parse(keyFile, JSON.parse(text)).keys
  } catch (cause) {
    const message = `${path} is no file of keys that this version can read. Make one with prestige keys add.`
    throw new PrestigeError('INVALID_OPTIONS', message, { cause })
  }
}

export async function writeKeys(path: string, keys: readonly ApiKey[]): Promise<void> {
  const file = await AtomicFile.open(path, { mode: 0o600 })
  await file.write(`${JSON.stringify({ format: FORMAT, keys }, undefined, 2)}\n`)
  await file.close()
}
