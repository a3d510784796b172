/** Jobs: how far they are, live, and how they are stopped. */

import * as v from 'valibot'

import { eventStream } from '../http/event-stream.ts'
import { json } from '../http/reply.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'
import type { CorpusJob } from '../jobs/job.ts'
import { jobsOf, partOf } from './state.ts'

export const jobForm: v.GenericSchema = v.looseObject({
  job: v.string(),
  status: v.picklist(['waiting', 'running', 'done', 'failed', 'stopped']),
  createdAt: v.pipe(v.number(), v.description('Milliseconds since 1970.')),
  endedAt: v.optional(v.number()),
  upload: v.optional(
    v.pipe(v.string(), v.description('What was sent: it can be given again by this name.')),
  ),
  run: v.optional(v.string()),
  phase: v.optional(v.picklist(['reading', 'deciding', 'publishing'])),
  documents: v.pipe(v.number(), v.description('Documents that were read.')),
  bytes: v.pipe(v.number(), v.description('Bytes of their texts.')),
  bytesAll: v.pipe(v.number(), v.description('Bytes of all inputs.')),
  error: v.optional(v.object({ code: v.string(), message: v.string() })),
})

const stopQuery = v.strictObject({
  discard: v.optional(
    v.pipe(
      v.picklist(['true', 'false']),
      v.description('Undo its run, too. Otherwise the same request resumes it.'),
    ),
  ),
})

export const jobRoutes: AnyRoute[] = [
  route({
    name: 'getJob',
    method: 'GET',
    path: '/api/v1/jobs/{job}',
    summary: 'How far a job is, or its result',
    tag: 'runs',
    scope: 'read',
    replies: { 200: { description: 'The job', schema: jobForm } },
    handle: (call) => json(jobOf(call).view),
  }),
  route({
    name: 'followJob',
    method: 'GET',
    path: '/api/v1/jobs/{job}/events',
    summary:
      'Events of a job as they happen: phase, progress, and done, failed or stopped at the end',
    tag: 'runs',
    scope: 'read',
    headers: {
      'Last-Event-ID': 'The id of the last event that was received: only later ones come.',
    },
    replies: {
      200: {
        description: 'Server-sent events; each has the job',
        contentType: 'text/event-stream',
      },
    },
    handle: follow,
  }),
  route({
    name: 'stopJob',
    method: 'DELETE',
    path: '/api/v1/jobs/{job}',
    summary: 'Stop a job; answers when it has stopped',
    tag: 'runs',
    scope: 'write',
    query: stopQuery,
    replies: { 200: { description: 'The job', schema: jobForm } },
    handle: stop,
  }),
]

function jobOf(call: Call): CorpusJob {
  return jobsOf(call).job(partOf(call, 'job'))
}

function follow(call: Call): Response {
  const job = jobOf(call)
  const last = Number(call.request.headers.get('last-event-id') ?? 0)
  const after = Number.isSafeInteger(last) ? last : 0
  return eventStream((signal) => job.events(after, signal))
}

async function stop(call: Call<v.InferOutput<typeof stopQuery>>): Promise<Response> {
  const job = jobOf(call)
  job.stop(call.query.discard === 'true')
  await job.ended
  return json(job.view)
}
