/** Where a request goes: always to the upstream, and below its path, whatever was asked for. */

import { PrestigeError } from '../platform/errors.ts'

export interface Target {
  /** Path and query, as they are sent. */
  readonly path: string
  /** The whole address, by which an answer is kept. */
  readonly url: string
}

export class Upstream {
  readonly #origin: string
  readonly #base: string
  readonly #mount: string
  readonly url: URL

  constructor(upstream: string, mount: string) {
    this.url = new URL(upstream)
    this.#origin = this.url.origin
    this.#base = this.url.pathname.replace(/\/+$/, '')
    this.#mount = mount
  }

  /** `address`: of the request, with its path as it was sent. */
  target(address: string): Target {
    const asked = address.replace(/^[a-z]+:\/\/[^/?#]*/i, '').replace(/#.*$/s, '')
    const at = asked.indexOf('?')
    const path = at < 0 ? asked : asked.slice(0, at)
    const rest = path.slice(this.#mount.length) || '/'
    if (!path.startsWith(this.#mount) || !isPlain(rest))
      throw new PrestigeError(
        'INVALID_REQUEST',
        'The path begins with one /, has no part that is . or .. in any spelling, and percent-encodes what is not printable ASCII.',
      )
    const query = at < 0 ? '' : asked.slice(at)
    if (/[^!-~]/.test(query))
      throw new PrestigeError('INVALID_REQUEST', 'The query is not percent-encoded.')
    const whole = this.#base + rest + query
    return { path: whole, url: this.#origin + whole }
  }

  /** Another address of the upstream that an answer names, or `undefined` if it is elsewhere. */
  resolved(reference: string, { url }: Target): URL | undefined {
    if (!URL.canParse(reference, url)) return undefined
    const other = new URL(reference, url)
    const isBelow = `${other.pathname}/`.startsWith(`${this.#base}/`)
    return other.origin === this.#origin && isBelow ? other : undefined
  }

  /** The path by which a client of the proxy reaches what an answer names. What is elsewhere stays. */
  outward(reference: string, target: Target): string {
    const other = this.resolved(reference, target)
    if (!other) return reference
    const rest = other.pathname.slice(this.#base.length) || '/'
    return this.#mount + rest + other.search + other.hash
  }
}

/** A part may be decoded more than once on its way: what is `..` after any of them is refused. */
function isPlain(path: string): boolean {
  if (!/^\/(?!\/)/.test(path) || /[^!-~]|\\/.test(path)) return false
  let text = path
  for (let round = 0; round < 3; round++) {
    if (/(?:^|[/\\])\.{1,2}(?:[/\\;]|$)/.test(text)) return false
    text = text.replace(/%(2e|2f|5c|25)/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
  }
  return !/(?:^|[/\\])\.{1,2}(?:[/\\;]|$)/.test(text)
}
