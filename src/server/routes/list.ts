/** Many keys: listed, and counted. */

import * as v from 'valibot'

import { json, keyForm, shown } from '../http/reply.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'

const LIMIT_DEFAULT = 1000
const LIMIT_MAX = 10_000

const limit = v.pipe(
  v.string(),
  v.regex(/^\d{1,9}$/, `must be a whole number from 1 to ${LIMIT_MAX}`),
  v.transform(Number),
  v.minValue(1, `must be a whole number from 1 to ${LIMIT_MAX}`),
  v.maxValue(LIMIT_MAX, `must be a whole number from 1 to ${LIMIT_MAX}`),
  v.description(`The most keys in the answer (${LIMIT_DEFAULT}).`),
)

const listQuery = v.strictObject({
  prefix: v.optional(v.pipe(v.string(), v.description('Keys that begin with it.'))),
  after: v.optional(
    v.pipe(
      v.string(),
      v.description('Keys behind this one, as Prestige-Next has it: to get the next page.'),
    ),
  ),
  limit: v.optional(limit),
})

const counts = v.object({
  keys: v.number(),
  unique_values: v.number(),
  bytes: v.optional(v.number()),
  exact: v.boolean(),
})

export const listRoutes: AnyRoute[] = [
  route({
    name: 'listKeys',
    method: 'GET',
    path: '/api/v1/kv',
    summary: 'Keys in byte order',
    tag: 'store',
    scope: 'read',
    query: listQuery,
    replies: {
      200: {
        description: 'Keys',
        schema: v.array(keyForm),
        headers: { 'Prestige-Next': 'Where there are more keys: what to send as `after`.' },
      },
    },
    handle: list,
  }),
  route({
    name: 'count',
    method: 'GET',
    path: '/api/v1/kv/_count',
    summary: 'How many keys and contents there are',
    tag: 'store',
    scope: 'read',
    replies: { 200: { description: 'Counts', schema: counts } },
    handle: count,
  }),
  route({
    name: 'countApproximately',
    method: 'GET',
    path: '/api/v1/kv/_count/approx',
    summary: 'The same: counts are exact and cost nothing here',
    tag: 'store',
    scope: 'read',
    replies: { 200: { description: 'Counts', schema: counts } },
    handle: count,
  }),
]

async function list(call: Call<v.InferOutput<typeof listQuery>>): Promise<Response> {
  const { prefix, after, limit: most = LIMIT_DEFAULT } = call.query
  const store = await call.services.store(call.namespace)
  const keys: Buffer[] = []
  let hasMore = false
  for await (const key of store.keys({
    prefix,
    startAfter: after && keyAfter(after),
    limit: most + 1,
  })) {
    if (keys.length === most) hasMore = true
    else keys.push(key)
  }
  const last = keys.at(-1)
  const next = hasMore && last ? { 'prestige-next': `base64:${last.toString('base64url')}` } : {}
  return json(keys.map(shown), { headers: next })
}

/** As `Prestige-Next` has it, or a key as it is. */
function keyAfter(after: string): Buffer {
  const [, encoded] = /^base64:([\w-]*)$/.exec(after) ?? []
  return encoded === undefined ? Buffer.from(after) : Buffer.from(encoded, 'base64url')
}

async function count({ services, namespace }: Call): Promise<Response> {
  const { keys, contents, contentBytes } = await (await services.store(namespace)).stats()
  return json({ keys, unique_values: contents, bytes: contentBytes, exact: true })
}
