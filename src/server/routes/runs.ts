/** Corpus runs: made from documents that are sent or from files below the roots, reported on, and taken back. */

import * as v from 'valibot'

import { PrestigeError } from '../../platform/errors.ts'
import { isS3 } from '../../platform/s3/address.ts'
import { versionOf } from '../../platform/version.ts'
import { bodyOf, checked, jsonBody, refuseLongBody } from '../http/body.ts'
import { HttpProblem } from '../http/problem.ts'
import { json } from '../http/reply.ts'
import { type AnyRoute, type BodyForm, type Call, type Fields, route } from '../http/route.ts'
import type { JobOrder } from '../jobs/corpus-jobs.ts'
import { inputsBelow } from '../jobs/inputs.ts'
import { readSettings } from '../jobs/settings.ts'
import { jobForm } from './jobs.ts'
import { jobsOf, limitQuery, partOf } from './state.ts'

const LINES = /^application\/(?:x-ndjson|ndjson|jsonl|x-jsonl|jsonlines|x-jsonlines)\b/i
const JSON_TYPE = /^application\/json\b/i
const CLUSTERS_MAX = 1000
const DUPLICATES_MAX = 1000
const CONFLICT = 409
/** A page of our own, which needs no script; what documents say must not become one. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

const runName = v.pipe(v.string(), v.description('Names the run. Default: by the time.'))
const again = 'Decide again, with these settings, about all that earlier runs have processed.'

/** All others are settings, such as `near.threshold`. */
const runQuery = v.objectWithRest(
  {
    run: v.optional(runName),
    again: v.optional(v.pipe(v.picklist(['true', 'false']), v.description(again))),
  },
  v.string(),
)

const orderBody = v.strictObject({
  inputs: v.optional(
    v.pipe(
      v.array(v.pipe(v.string(), v.minLength(1))),
      v.minLength(1),
      v.maxLength(10_000),
      v.description('Files and directories below the roots of the server.'),
    ),
  ),
  upload: v.optional(
    v.pipe(v.string(), v.description('In place of inputs: what was sent before, by its name.')),
  ),
  settings: v.optional(
    v.pipe(
      v.record(v.string(), v.unknown()),
      v.description('As in a config of prestige dedupe: {"near": {"threshold": 0.9}}.'),
    ),
  ),
  run: v.optional(runName),
  again: v.optional(v.pipe(v.boolean(), v.description(again))),
})

const undoBody = v.strictObject({
  dryRun: v.optional(v.pipe(v.boolean(), v.description('Only say what would be taken back.'))),
  cascade: v.optional(v.pipe(v.boolean(), v.description('Take back runs that rely on it, too.'))),
})

const documentsBody: BodyForm<Fields> = {
  kind: 'stream',
  contentType: 'application/x-ndjson',
  description:
    'Documents, one a line, with settings in the query; or as application/json {inputs | upload, settings?, run?, again?}.',
}

const anything = v.looseObject({})
const listed = v.object({ runs: v.array(anything), jobs: v.array(jobForm) })
const undone = v.object({
  dryRun: v.boolean(),
  undone: v.array(v.looseObject({ run: v.string(), documents: v.number() })),
})

export const runRoutes: AnyRoute[] = [
  route({
    name: 'startRun',
    method: 'POST',
    path: '/api/v1/runs',
    summary: 'Begin a run',
    tag: 'runs',
    scope: 'write',
    query: runQuery,
    body: documentsBody,
    replies: {
      202: { description: 'The job, which waits or runs', schema: jobForm },
      409: { description: 'Earlier runs decided with other settings' },
      503: { description: 'Too many jobs wait' },
      507: { description: 'Uploads have taken all the room they may' },
    },
    handle: start,
  }),
  route({
    name: 'planRun',
    method: 'POST',
    path: '/api/v1/runs/plan',
    summary: 'What a run would keep, drop and link; nothing is kept of it',
    tag: 'runs',
    scope: 'write',
    query: runQuery,
    body: documentsBody,
    replies: {
      200: { description: 'The plan', schema: anything },
      409: { description: 'Earlier runs decided with other settings' },
    },
    handle: plan,
  }),
  route({
    name: 'listRuns',
    method: 'GET',
    path: '/api/v1/runs',
    summary: 'All runs, the first one first, and the jobs of this server',
    tag: 'runs',
    scope: 'read',
    replies: { 200: { description: 'Runs and jobs', schema: listed } },
    handle: list,
  }),
  route({
    name: 'getRun',
    method: 'GET',
    path: '/api/v1/runs/{run}',
    summary: 'The report of a run as data',
    tag: 'runs',
    scope: 'read',
    replies: { 200: { description: 'The report', schema: anything } },
    handle: report,
  }),
  route({
    name: 'getRunPage',
    method: 'GET',
    path: '/api/v1/runs/{run}/report',
    summary: 'The report of a run as a page',
    tag: 'runs',
    scope: 'read',
    replies: { 200: { description: 'The page', contentType: 'text/html' } },
    handle: page,
  }),
  route({
    name: 'getRunClusters',
    method: 'GET',
    path: '/api/v1/runs/{run}/clusters',
    summary: 'The largest clusters that documents of a run have joined',
    tag: 'runs',
    scope: 'read',
    query: limitQuery('limit', CLUSTERS_MAX, 'The most clusters in the answer (20).'),
    replies: {
      200: { description: 'Clusters', schema: v.object({ clusters: v.array(anything) }) },
    },
    handle: clusters,
  }),
  route({
    name: 'undoRun',
    method: 'POST',
    path: '/api/v1/runs/{run}/undo',
    summary: 'Take a run back',
    tag: 'runs',
    scope: 'write',
    body: { kind: 'json', schema: undoBody, isOptional: true },
    replies: {
      200: { description: 'What was taken back', schema: undone },
      409: { description: 'Other runs rely on it' },
      503: { description: 'A run goes on' },
    },
    handle: undo,
  }),
]

async function start(call: Call<v.InferOutput<typeof runQuery>>): Promise<Response> {
  const jobs = jobsOf(call)
  const leave = jobs.reserve()
  try {
    const order = await orderOf(call)
    await jobs.requireSettings(order)
    return json(jobs.start(order, leave).view, { status: 202 })
  } catch (error) {
    leave()
    throw ofCaller(error)
  }
}

async function plan(call: Call<v.InferOutput<typeof runQuery>>): Promise<Response> {
  const jobs = jobsOf(call)
  const leave = jobs.reserve()
  try {
    return json(await jobs.plan(await orderOf(call), DUPLICATES_MAX, call.signal))
  } catch (error) {
    throw ofCaller(error)
  } finally {
    leave()
  }
}

async function orderOf(call: Call<v.InferOutput<typeof runQuery>>): Promise<JobOrder> {
  const { request, query } = call
  const type = request.headers.get('content-type') ?? ''
  if (JSON_TYPE.test(type)) return namedOrder(call)
  if (!LINES.test(type))
    throw new HttpProblem(
      'UNSUPPORTED_MEDIA_TYPE',
      'Send documents as application/x-ndjson, or {"inputs": […]} as application/json.',
    )
  const { run, again: isAgain, ...names } = query
  // What is wrong is said before the body is read.
  const settings = { query: names }
  const { given } = readSettings(settings)
  const { uploadBytes } = call.services.limits
  refuseLongBody(request, uploadBytes)
  const upload = await jobsOf(call).uploads.receive(bodyOf(request, uploadBytes))
  return uploaded(call, upload, given, { settings, run, again: isAgain === 'true' })
}

/** What is sent is kept as it is, so how it is asked for again has its settings as they were understood. */
function uploaded(
  call: Call,
  upload: string,
  given: object,
  how: Pick<JobOrder, 'settings' | 'run' | 'again'>,
): JobOrder {
  const { uploads } = jobsOf(call)
  const body = { upload, ...(Object.keys(given).length > 0 && { settings: given }) }
  return { ...how, body, upload, inputs: [{ path: uploads.fileOf(upload), source: 'upload' }] }
}

async function namedOrder(call: Call<v.InferOutput<typeof runQuery>>): Promise<JobOrder> {
  checked(v.strictObject({}), call.query, 'With a body of JSON, the query')
  const form = { schema: orderBody }
  // safe: checked by this very schema
  const body = (await jsonBody(
    call.request,
    form,
    call.services.limits.jsonBytes,
  )) as v.InferOutput<typeof orderBody>
  const { inputs, upload, settings = {}, run, again: isAgain = false } = body
  if ((inputs === undefined) === (upload === undefined))
    throw new HttpProblem('INVALID_REQUEST', 'Give inputs or upload: one of the two.')
  const { given } = readSettings({ settings })
  const how = { settings: { settings }, run, again: isAgain }
  if (upload !== undefined) {
    await jobsOf(call).uploads.hold(upload)
    return uploaded(call, upload, given, how)
  }
  const asked = inputs ?? []
  const remote = asked.find(isS3)
  if (remote !== undefined)
    throw new HttpProblem('FORBIDDEN', `${remote}: inputs are files below the roots of the server.`)
  const found = await inputsBelow(call.services.options.roots ?? [], asked, jobsOf(call).out)
  return { ...how, body: { inputs: asked, settings }, inputs: found }
}

async function list(call: Call): Promise<Response> {
  const jobs = jobsOf(call)
  const { runLines } = await import('../../report/index.ts')
  const runs = await jobs.withAnyState(({ backend }) => runLines(backend, new Map(), false), [])
  return json({ runs, jobs: jobs.jobs.map(({ view }) => view) })
}

async function report(call: Call): Promise<Response> {
  const run = partOf(call, 'run')
  const { reportOf } = await import('../../report/index.ts')
  return json(
    await jobsOf(call).withRun(run, ({ backend }) =>
      reportOf(backend, run, { version: versionOf() }),
    ),
  )
}

async function page(call: Call): Promise<Response> {
  const run = partOf(call, 'run')
  const { pageOf, reportOf } = await import('../../report/index.ts')
  const text = await jobsOf(call).withRun(run, async ({ backend }) =>
    pageOf(backend, await reportOf(backend, run, { version: versionOf() })),
  )
  return new Response(text, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PAGE_POLICY,
    },
  })
}

async function clusters(call: Call<{ readonly limit?: number | undefined }>): Promise<Response> {
  const run = partOf(call, 'run')
  const { limit } = call.query
  const found = await jobsOf(call).withRun(run, (deduper) => deduper.clusters({ run, limit }))
  return json({ clusters: found })
}

async function undo(call: Call<unknown, v.InferOutput<typeof undoBody>>): Promise<Response> {
  const { dryRun = false, cascade = false } = call.body
  const taken = await jobsOf(call)
    .undo(partOf(call, 'run'), { dryRun, cascade })
    .catch((error: unknown) => {
      throw ofCaller(error)
    })
  return json({ dryRun, undone: taken })
}

/** Settings of a run are the caller's, unlike those by which the server opens a store. */
function ofCaller(error: unknown): unknown {
  if (!(error instanceof PrestigeError) || error.code !== 'SETTINGS_MISMATCH') return error
  return new HttpProblem(error.code, error.message, {}, CONFLICT)
}
