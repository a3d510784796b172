/** Decides who is calling, and whether they may. */

import { HttpProblem } from '../http/problem.ts'
import type { AnyRoute } from '../http/route.ts'
import { type ApiKey, keyOf } from './api-keys.ts'
import { ANYBODY, type Caller, requireNamespace, requireScope } from './caller.ts'
import { Rate } from './rate.ts'

interface KnownKey {
  readonly caller: Caller
  readonly requests: Rate | undefined
  readonly bytes: Rate | undefined
}

/** `spend` takes bytes that were received or sent. */
export interface Admitted {
  readonly caller: Caller
  readonly spend: (bytes: number) => void
}

export class Gatekeeper {
  readonly #clock: () => number
  #keys: ReadonlyMap<string, ApiKey> | undefined
  #known: ReadonlyMap<string, KnownKey> = new Map()

  constructor(keys: readonly ApiKey[] | undefined, clock: () => number) {
    this.#clock = clock
    if (keys) this.replaceKeys(keys)
  }

  /** Requests that were admitted go on. What a key has used is forgotten with it, and kept where the key is the same. */
  replaceKeys(keys: readonly ApiKey[]): void {
    const known = keys.map((key): [string, KnownKey] => {
      const before = this.#known.get(key.id)
      const isSame = JSON.stringify(this.#keys?.get(key.id)) === JSON.stringify(key)
      return [key.id, isSame && before ? before : knownKey(key, this.#clock)]
    })
    this.#keys = new Map(keys.map((key) => [key.id, key]))
    this.#known = new Map(known)
  }

  get asksForKeys(): boolean {
    return this.#keys !== undefined
  }

  admit(request: Request, { scope }: AnyRoute, namespace: string | undefined): Admitted {
    if (scope === 'public' || !this.#keys) return { caller: ANYBODY, spend: () => undefined }
    const secret = secretOf(request)
    const key = keyOf(this.#keys, secret)
    const known = key && this.#known.get(key.id)
    if (!known) throw unauthenticated(secret !== '')
    requireScope(known.caller, scope)
    requireNamespace(known.caller, namespace)
    known.requests?.take(1, 'requests')
    known.bytes?.take(0, 'bytes')
    return { caller: known.caller, spend: (bytes) => known.bytes?.spend(bytes) }
  }
}

function knownKey(key: ApiKey, clock: () => number): KnownKey {
  const { id, scope, namespaces, requestsPerSecond, bytesPerSecond } = key
  return {
    caller: { id, scope, ...(namespaces && { namespaces: new Set(namespaces) }) },
    requests: requestsPerSecond === undefined ? undefined : new Rate(requestsPerSecond, clock),
    bytes: bytesPerSecond === undefined ? undefined : new Rate(bytesPerSecond, clock),
  }
}

/** The same of a key that was removed, of one that never was, and of one that is cut off. */
function unauthenticated(isSent: boolean): HttpProblem {
  const message = isSent
    ? 'The key that was sent is not known here: it is incomplete, was removed, or is of another server. prestige keys add makes one.'
    : 'A key is needed: send Authorization: Bearer KEY. prestige keys add makes one.'
  return new HttpProblem('UNAUTHENTICATED', message, {
    'www-authenticate': `Bearer realm="prestige"${isSent ? ', error="invalid_token"' : ''}`,
  })
}

/** In a header, never in the address, which logs and browsers keep. */
function secretOf({ headers }: Request): string {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '') ?? []
  return bearer ?? headers.get('x-api-key') ?? ''
}
