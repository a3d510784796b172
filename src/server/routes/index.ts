/** Every route, once. */

import { versionOf } from '../../platform/version.ts'
import { openApiDocument } from '../http/openapi.ts'
import { json } from '../http/reply.ts'
import { type AnyRoute, route } from '../http/route.ts'
import type { Measurements } from '../measurements.ts'
import { adminRoutes } from './admin.ts'
import { batchRoutes } from './batch.ts'
import { changesRoutes } from './changes.ts'
import { documentRoutes } from './documents.ts'
import { consoleRoutes } from './console.ts'
import { healthRoutes } from './health.ts'
import { jobRoutes } from './jobs.ts'
import { kvRoutes } from './kv.ts'
import { ledgerRoutes } from './ledger.ts'
import { listRoutes } from './list.ts'
import { proxyRoutes } from './proxy.ts'
import { textRoutes } from './texts.ts'
import { runRoutes } from './runs.ts'
import { tuneRoutes } from './tune.ts'

export function routes(measurements: Measurements, hasProxy = false): AnyRoute[] {
  const all = [
    ...kvRoutes,
    ...listRoutes,
    ...batchRoutes,
    ...textRoutes,
    ...changesRoutes,
    ...runRoutes,
    ...jobRoutes,
    ...documentRoutes,
    ...ledgerRoutes,
    ...tuneRoutes,
    ...adminRoutes(measurements),
    ...healthRoutes(measurements),
  ]
  all.push(openApiRoute(all))
  // Pages, and paths of others: no part of the API that is described.
  return [...all, ...consoleRoutes, ...(hasProxy ? proxyRoutes : [])]
}

/** Made when it is first asked for. It lists itself, too. */
function openApiRoute(all: readonly AnyRoute[]): AnyRoute {
  let document: object | undefined
  return route({
    name: 'openApi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    tag: 'health',
    scope: 'public',
    replies: { 200: { description: 'OpenAPI 3.1', contentType: 'application/json' } },
    handle: () => json((document ??= openApiDocument(all, versionOf()))),
  })
}
