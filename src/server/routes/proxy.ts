/** The caching proxy: everything below /proxy/ goes to the upstream, and to nowhere else. */

import { bodyOf, refuseLongBody } from '../http/body.ts'
import { HttpProblem } from '../http/problem.ts'
import { type AnyRoute, type Call, type Method, route } from '../http/route.ts'
import { ANYBODY } from '../security/caller.ts'

const METHODS: readonly Method[] = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'POST', 'DELETE', 'PATCH']
const READS: ReadonlySet<Method> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** A page of the upstream must not be one of this server's: it could read what the console keeps in the browser. */
const PAGE_POLICY = 'sandbox allow-scripts allow-forms allow-popups allow-downloads'
/** About the whole origin, which is this server's. */
const OF_ORIGIN = ['clear-site-data', 'service-worker-allowed', 'strict-transport-security']

export const proxyRoutes: AnyRoute[] = METHODS.map((method) =>
  route({
    name: `proxy${method}`,
    method,
    path: '/proxy/{path*}',
    summary: 'What the upstream answers, kept as RFC 9111 says',
    tag: 'proxy',
    scope: READS.has(method) ? 'read' : 'write',
    passesQuery: true,
    body: { kind: 'stream', contentType: '*/*', description: 'Passed on' },
    replies: {
      502: { description: 'The upstream failed' },
      504: { description: 'The upstream did not answer in time' },
    },
    handle: forward,
  }),
)

async function forward(call: Call): Promise<Response> {
  const { request, services, namespace } = call
  if (namespace !== undefined)
    throw new HttpProblem(
      'INVALID_REQUEST',
      'The proxy is not divided into namespaces: leave out Prestige-Namespace.',
    )
  const { valueBytes } = services.limits
  refuseLongBody(request, valueBytes)
  const proxy = await services.proxy()
  const body = hasBody(request) ? bodyOf(request, valueBytes) : undefined
  const response = await proxy.forward(request, { headers: sentHeaders(call), body })
  for (const name of OF_ORIGIN) response.headers.delete(name)
  response.headers.append('content-security-policy', PAGE_POLICY)
  return response
}

function hasBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0
}

/** The key of this server is none of the upstream's business. */
function sentHeaders({ request, caller }: Call): Headers {
  const headers = new Headers([...request.headers])
  const own = headers.get('prestige-upstream-authorization')
  headers.delete('prestige-upstream-authorization')
  if (caller !== ANYBODY) {
    headers.delete('x-api-key')
    if (/^Bearer /i.test(headers.get('authorization') ?? '')) headers.delete('authorization')
  }
  if (own !== null) headers.set('authorization', own)
  return headers
}
