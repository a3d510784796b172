/** Headers that concern one connection and not the message, and those that a proxy sets itself. */

/** RFC 9110 section 7.6.1, and what old software sends. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
/** Not of the upstream's business: `host` becomes its own. */
const OWN = ['host', 'expect', 'content-length']

/** Whether a list in a header has this member. */
export function isOneOf(list: string | null, member: string): boolean {
  return (list ?? '').split(',').some((one) => one.trim().toLowerCase() === member)
}

/** All but those of the connection, which may name others. */
export function endToEnd(headers: Iterable<[string, string]>): Headers {
  const kept = new Headers([...headers])
  const named = (kept.get('connection') ?? '').split(',').map((name) => name.trim().toLowerCase())
  for (const name of [...HOP_BY_HOP, ...named]) if (/^[\w-]+$/.test(name)) kept.delete(name)
  return kept
}

/** Those that are sent on. The length is that of the body that is sent on, if there is one. */
export function forwarded(headers: Headers): Headers {
  const kept = endToEnd(headers)
  for (const name of OWN) kept.delete(name)
  return kept
}

/** Names in `Vary`, each once, in order. */
export function variedBy(headers: Headers): string[] {
  const names = (headers.get('vary') ?? '').split(',').map((name) => name.trim().toLowerCase())
  return [...new Set(names.filter((name) => name !== ''))].toSorted()
}
