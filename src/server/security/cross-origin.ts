/**
 * Which pages of other origins may call, and under which host names the server may be called. Without names, a page that
 * somebody visits could reach a server on their machine by a name that it makes point there.
 */

import { LightRequest } from '../http/light.ts'
import { HttpProblem } from '../http/problem.ts'

const METHODS = 'GET, HEAD, PUT, POST, DELETE'
const REQUEST_HEADERS =
  'authorization, content-type, if-match, if-none-match, range, prestige-namespace, prestige-ttl, prestige-body, x-api-key, x-request-id'

export class CrossOrigin {
  readonly #origins: ReadonlySet<string>
  readonly #hosts: ReadonlySet<string> | undefined

  constructor(origins: readonly string[] = [], hosts: readonly string[] | undefined) {
    this.#origins = new Set(origins)
    this.#hosts = hosts && new Set(hosts.map((host) => host.toLowerCase()))
  }

  /** Refuses what may not be asked; answers what a browser asks beforehand. */
  check(request: Request): Response | undefined {
    const { headers, method, url } = request
    if (this.#hosts && !this.#hosts.has(hostName(request)))
      throw new HttpProblem(
        'FORBIDDEN',
        'The server is not called by this host name. Name it with --allow-host.',
      )
    const origin = headers.get('origin')
    if (origin === null || isSame(origin, headers, url) || this.#origins.has(origin)) {
      const asksFirst = method === 'OPTIONS' && headers.has('access-control-request-method')
      return asksFirst ? preflight() : undefined
    }
    throw new HttpProblem(
      'FORBIDDEN',
      'Pages of this origin may not call this server. Name it with --allow-origin.',
    )
  }

  mark({ headers }: Request, reply: Headers): void {
    const origin = headers.get('origin')
    if (origin === null || !this.#origins.has(origin)) return
    reply.set('access-control-allow-origin', origin)
    reply.append('vary', 'origin')
  }
}

/** By which it was called: the same one again and again, which is taken apart once. */
let lastOrigin = ''
let lastName = ''

function hostName(request: Request): string {
  if (!(request instanceof LightRequest)) return new URL(request.url).hostname
  const { origin } = request
  if (origin !== lastOrigin) {
    lastName = new URL(origin).hostname
    lastOrigin = origin
  }
  return lastName
}

function isSame(origin: string, headers: Headers, url: string): boolean {
  const host = headers.get('host') ?? new URL(url).host
  return URL.canParse(origin) && new URL(origin).host === host
}

function preflight(): Response {
  return new Response(undefined, {
    status: 204,
    headers: {
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': '600',
    },
  })
}
