/**
 * Removes passwords from what is shown: locations get into messages, logs and reports.
 *
 * Invariant: rather too much is hidden than too little. A location that cannot be parsed holds the same password as
 * the one that was meant.
 */

const HIDDEN = '***'
const SECRET_NAME = /pass|pwd|secret|token|key|auth|cred|sig/i
const LOCATION = /^([a-z][a-z0-9+.-]*:\/*)(.*)$/is
/** Whitespace and quotes end a URL within a text. */
const URL_IN_TEXT = /\b[a-z][a-z0-9+.-]*:\/+[^\s"'`<>]+/gi
/** In the path of anything else, an `@` is part of a name, as in `https://example.org/@name`. */
const OWN_SCHEME = /^(?:rediss?(?:\+cluster)?|valkeys?|dynamodb):/i

/**
 * `redis://user:***@host` of `redis://user:secret@host`, and `redis://host?password=***`. The whole text is one
 * location: everything before the last `@` is a login, whatever characters it holds.
 */
export function withoutSecrets(location: string): string {
  const [, scheme, rest = ''] = LOCATION.exec(location) ?? []
  if (scheme === undefined) return location
  const [before = '', ...more] = rest.split('?')
  if (more.length === 0) return scheme + hiddenLogin(before)
  const query = hiddenParameters(more.join('?'))
  // The `?` belongs to a password that should have been percent-encoded.
  if (query === undefined) return `${scheme}${HIDDEN}${rest.slice(rest.lastIndexOf('@'))}`
  return `${scheme}${hiddenLogin(before)}?${query}`
}

/** The same for every URL within a longer text. */
export function withoutSecretsInText(text: string): string {
  return text.replace(URL_IN_TEXT, (url) => {
    if (OWN_SCHEME.test(url)) return withoutSecrets(url)
    const path = /^[^:]*:\/+[^/?#]*/.exec(url)?.[0] ?? ''
    const [beforeQuery = '', ...query] = url.slice(path.length).split('?')
    const parameters = query.length > 0 ? `?${hiddenParameters(query.join('?')) ?? HIDDEN}` : ''
    return withoutSecrets(path) + beforeQuery + parameters
  })
}

/** A login without a colon is hidden as well: it may be a token. */
function hiddenLogin(rest: string): string {
  const at = rest.lastIndexOf('@')
  if (at < 0) return rest
  const login = rest.slice(0, at)
  const colon = login.indexOf(':')
  return (colon < 0 ? HIDDEN : `${login.slice(0, colon)}:${HIDDEN}`) + rest.slice(at)
}

/** `undefined`: it is no query, but the rest of a login. */
function hiddenParameters(query: string): string | undefined {
  const shown: string[] = []
  for (const parameter of query.split('&')) {
    const equals = parameter.indexOf('=')
    const name = decoded(parameter.slice(0, equals < 0 ? undefined : equals))
    const given = equals < 0 ? '' : parameter.slice(equals + 1)
    const value = decoded(given)
    if (name === undefined || value === undefined || SECRET_NAME.test(name)) {
      shown.push(`${parameter.slice(0, Math.max(0, equals))}=${HIDDEN}`)
      continue
    }
    const hidden = withoutSecrets(value)
    if (name.includes('@') || (value.includes('@') && hidden === value)) return undefined
    shown.push(hidden === value ? parameter : `${parameter.slice(0, equals)}=${hidden}`)
  }
  return shown.join('&')
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
