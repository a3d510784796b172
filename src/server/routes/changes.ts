/** What changes in the store, as server-sent events. */

import * as v from 'valibot'

import type { Store } from '../../store/index.ts'
import { eventStream, type ServerEvent } from '../http/event-stream.ts'
import { shown } from '../http/reply.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'

const query = v.strictObject({
  after: v.optional(
    v.pipe(v.string(), v.description('Changes behind this cursor. Default: the oldest kept.')),
  ),
  prefix: v.optional(v.pipe(v.string(), v.description('Only of keys that begin so.'))),
})

type Query = v.InferOutput<typeof query>

export const changesRoutes: AnyRoute[] = [
  route({
    name: 'changes',
    method: 'GET',
    path: '/api/v1/changes',
    summary: 'Changes of keys, until the client goes',
    tag: 'store',
    scope: 'read',
    query,
    headers: { 'Last-Event-ID': 'As `after`, which it goes before.' },
    replies: {
      200: {
        description: 'One event a change: its id is its cursor, its name its kind, its data JSON',
        contentType: 'text/event-stream',
      },
      400: { description: 'The store keeps no changes, or no longer those behind the cursor' },
    },
    handle: changes,
  }),
]

async function changes(call: Call<Query>): Promise<Response> {
  const { request, services, namespace, query: asked } = call
  const store = await services.store(namespace)
  const after = request.headers.get('last-event-id') ?? asked.after
  // Refused before the answer begins, where a client understands it.
  await oneOf(store, after)
  return eventStream((gone) =>
    events(store, { ...asked, after }, AbortSignal.any([gone, call.signal, services.closing])),
  )
}

async function oneOf(store: Store, after: string | undefined): Promise<void> {
  for await (const _ of store.changes({ after, limit: 1 })) return
}

async function* events(
  store: Store,
  { after, prefix }: Query,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  for await (const change of store.changes({ after, prefix, follow: true, signal })) {
    const { cursor, kind, key, ...rest } = change
    yield { id: cursor, event: kind, data: { cursor, kind, key: shown(key), ...rest } }
  }
}
