/** Takes passwords out of what is shown: locations get into messages, logs and reports. */

/**
 * `redis://user:***@host` of `redis://user:secret@host`. What stands before an `@` is taken for a login wherever
 * there is a scheme, also in a location that cannot be read: a mistyped one holds the same password.
 */
export function withoutSecrets(location: string): string {
  return location.replace(/^([a-z][a-z0-9+.-]*:\/*)(.*)@/is, (_, scheme: string, login: string) => {
    const colon = login.indexOf(':')
    return `${scheme}${colon < 0 ? login : `${login.slice(0, colon)}:***`}@`
  })
}
