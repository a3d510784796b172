/** What the routes about runs share. */

import { isUtf8 } from 'node:buffer'

import * as v from 'valibot'

import { HttpProblem } from '../http/problem.ts'
import type { Call } from '../http/route.ts'
import type { CorpusJobs } from '../jobs/corpus-jobs.ts'

/** Runs are of the server, not of a namespace: a key for some namespaces must not see them through one. */
export function jobsOf({ services, namespace }: Call): CorpusJobs {
  if (namespace !== undefined)
    throw new HttpProblem(
      'INVALID_REQUEST',
      'Runs are not divided into namespaces: leave out Prestige-Namespace.',
    )
  if (services.jobs) return services.jobs
  throw new HttpProblem(
    'ROUTE_NOT_FOUND',
    'This server has no runs: start it with prestige serve --jobs DIR.',
  )
}

/** A part of the path that is text. */
export function partOf({ path }: Pick<Call, 'path'>, name: string): string {
  const bytes = path[name] ?? Buffer.alloc(0)
  if (isUtf8(bytes)) return bytes.toString()
  throw new HttpProblem('INVALID_REQUEST', `${name}: the path is not UTF-8.`)
}

/** A whole number of a query. */
export function countForm(max: number, help: string) {
  const rule = `must be a whole number from 1 to ${max}`
  return v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,9}$/, rule),
      v.transform(Number),
      v.minValue(1, rule),
      v.maxValue(max, rule),
      v.description(help),
    ),
  )
}

/** A query of one number. */
export function limitQuery<N extends string>(name: N, max: number, help: string) {
  const entries = { [name]: countForm(max, help) } as Record<N, ReturnType<typeof countForm>> // safe: its only name
  return v.strictObject(entries)
}
