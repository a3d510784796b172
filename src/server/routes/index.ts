/** Every route, once. */

import type { AnyRoute } from '../http/route.ts'
import type { Measurements } from '../measurements.ts'
import { documentRoutes } from './documents.ts'
import { healthRoutes } from './health.ts'
import { jobRoutes } from './jobs.ts'
import { kvRoutes } from './kv.ts'
import { ledgerRoutes } from './ledger.ts'
import { listRoutes } from './list.ts'
import { runRoutes } from './runs.ts'
import { tuneRoutes } from './tune.ts'

export function routes(measurements: Measurements): AnyRoute[] {
  const all = [
    ...kvRoutes,
    ...listRoutes,
    ...healthRoutes(measurements),
    ...runRoutes,
    ...jobRoutes,
    ...documentRoutes,
    ...ledgerRoutes,
    ...tuneRoutes,
  ]
  return all
}
