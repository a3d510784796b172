/** The ledger: which documents were processed, when, in which run, with which outcome. */

import * as v from 'valibot'

import { openLedger, type RunLine, STATUSES } from '../../ledger/index.ts'
import { parsed } from '../http/body.ts'
import { HttpProblem } from '../http/problem.ts'
import { json } from '../http/reply.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'
import { countForm, jobsOf } from './state.ts'

const LIMIT_DEFAULT = 1000
const LIMIT_MAX = 10_000
const TIME = 'must be milliseconds since 1970, 2026-01-31 or 2026-01-31T12:00:00Z'

function time(help: string) {
  return v.optional(
    v.pipe(
      v.string(),
      v.transform((text) => (/^\d+$/.test(text) ? Number(text) : Date.parse(text))),
      v.number(TIME),
      v.finite(TIME),
      v.description(help),
    ),
  )
}

const ledgerQuery = v.strictObject({
  source: v.optional(v.pipe(v.string(), v.description('Lines of this source; not with run.'))),
  run: v.optional(v.pipe(v.string(), v.description('Lines of this run; not with source.'))),
  status: v.optional(v.pipe(v.picklist(STATUSES), v.description('Lines of this status.'))),
  since: time('Lines that have their status since this time, or later.'),
  until: time('Lines that have their status since before this time.'),
  after: v.optional(v.pipe(v.string(), v.description('`next` of the page before.'))),
  limit: countForm(LIMIT_MAX, `The most lines in the answer (${LIMIT_DEFAULT}).`),
})

export const ledgerRoutes: AnyRoute[] = [
  route({
    name: 'listLedger',
    method: 'GET',
    path: '/api/v1/ledger',
    summary: 'Lines of the ledger, in an order that never changes',
    tag: 'ledger',
    scope: 'read',
    query: ledgerQuery,
    replies: {
      200: {
        description: 'Lines; `next` where there are more',
        schema: v.object({
          lines: v.array(v.looseObject({ id: v.string(), status: v.string() })),
          next: v.optional(v.string()),
        }),
      },
    },
    handle: list,
  }),
]

/** Of the runs, where there are some; otherwise the ledger at the location of the store. */
async function list(call: Call<v.InferOutput<typeof ledgerQuery>>): Promise<Response> {
  const { services, namespace, query, signal } = call
  const { after, limit = LIMIT_DEFAULT, ...wanted } = query
  const startAfter = after === undefined ? undefined : lineOf(after)
  const ledger = services.jobs
    ? await openLedger(jobsOf(call).state, { create: false })
    : await openLedger(services.location, { namespace, create: false })
  try {
    const lines: RunLine[] = []
    for await (const line of ledger.list({ ...wanted, startAfter, limit: limit + 1 })) {
      signal.throwIfAborted()
      lines.push(line)
    }
    const page = lines.slice(0, limit)
    const last = page.at(-1)
    return json({ lines: page, ...(lines.length > limit && last && { next: nextOf(last) }) })
  } finally {
    await ledger.close()
  }
}

/** What a listing goes on behind: several lines may have one id. */
function nextOf(line: RunLine): string {
  const { id, status, at, token } = line
  const key: unknown = Reflect.get(line, 'key')
  return Buffer.from(JSON.stringify({ id, status, at, token, key })).toString('base64url')
}

const lineForm = v.strictObject({
  id: v.string(),
  status: v.picklist(STATUSES),
  at: v.number(),
  token: v.number(),
  key: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]*$/))),
})

function lineOf(after: string): RunLine {
  const read = v.safeParse(lineForm, parsed(Buffer.from(after, 'base64url'), 'after'))
  if (read.success) return read.output
  throw new HttpProblem('INVALID_REQUEST', 'after is not what next of another page was.')
}
