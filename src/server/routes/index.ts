/** Every route, once. */

import type { AnyRoute } from '../http/route.ts'
import type { Measurements } from '../measurements.ts'
import { consoleRoutes } from './console.ts'
import { healthRoutes } from './health.ts'
import { kvRoutes } from './kv.ts'
import { listRoutes } from './list.ts'

export function routes(measurements: Measurements): AnyRoute[] {
  const all = [...kvRoutes, ...listRoutes, ...healthRoutes(measurements), ...consoleRoutes]
  return all
}
