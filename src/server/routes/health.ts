/** Whether the server lives, whether it can work, and what it has measured. */

import * as v from 'valibot'

import { codeOf } from '../../platform/errors.ts'
import { json } from '../http/reply.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'
import type { Measurements } from '../measurements.ts'

const status = v.object({ status: v.string() })

export function healthRoutes(measurements: Measurements): AnyRoute[] {
  return [
    alive('health', '/health'),
    alive('live', '/health/live'),
    route({
      name: 'ready',
      method: 'GET',
      path: '/health/ready',
      summary: 'Whether the store can be read',
      tag: 'health',
      scope: 'public',
      replies: {
        200: { description: 'It can', schema: status },
        503: { description: 'It cannot' },
      },
      handle: ready,
    }),
    route({
      name: 'metrics',
      method: 'GET',
      path: '/metrics',
      summary: 'Measurements in the text format of Prometheus',
      tag: 'health',
      scope: 'read',
      replies: { 200: { description: 'Measurements', contentType: 'text/plain' } },
      handle: (call) => metrics(call, measurements),
    }),
  ]
}

function alive(name: string, path: string): AnyRoute {
  return route({
    name,
    method: 'GET',
    path,
    summary: 'Whether the process answers',
    tag: 'health',
    scope: 'public',
    replies: { 200: { description: 'It does', schema: status } },
    handle: () => json({ status: 'healthy' }),
  })
}

/** Reads one key, which costs the same however large the store is. One that nothing was put into is made by a put. */
async function ready({ services }: Call): Promise<Response> {
  try {
    const store = await services.store(undefined)
    await store.has('ready')
    return json({ status: 'ready' })
  } catch (error) {
    if (codeOf(error) === 'STORE_NOT_FOUND') return json({ status: 'ready' })
    return json({ status: 'unavailable' }, { status: 503, headers: { 'retry-after': '1' } })
  }
}

async function metrics(
  { services, namespace }: Call,
  measurements: Measurements,
): Promise<Response> {
  const { keys, contents, contentBytes } = await (await services.store(namespace)).stats()
  const { sink } = measurements
  sink.gauge('prestige.keys_total', keys)
  sink.gauge('prestige.objects_total', contents)
  sink.gauge('prestige.store_bytes', contentBytes)
  return new Response(measurements.render(), {
    headers: { 'content-type': measurements.contentType },
  })
}
