/** By what answers are kept: the address, and who asks. Parts are hashed: no secret is in the store. */

import { createHash } from 'node:crypto'

/** Two lists have the same digest only if they are equal. */
function digestOf(parts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

export interface CacheKey {
  /** All answers of the address have keys that begin with it. */
  readonly address: string
  /** Of what is kept for those who send the same `Authorization` and the same `Cookie`. */
  readonly entry: string
}

/** Only a GET is kept, so that the method is no part of it. */
export function cacheKey(prefix: string, url: string, headers: Headers): CacheKey {
  const address = `${prefix}1:entry:${digestOf([url])}:`
  const who = digestOf([headers.get('authorization'), headers.get('cookie')])
  return { address, entry: address + who }
}

/** What a request says about the headers that an answer varies by. */
export function variantOf(names: readonly string[], headers: Headers): string {
  // White space around members of a list says nothing: RFC 9111 section 4.1.
  const values = names.map(
    (name) =>
      headers
        .get(name)
        ?.replaceAll(/\s*,\s*/g, ',')
        .trim() ?? null,
  )
  return digestOf([...names, ...values])
}
