/** What an operator asks of a store: how it is, and to clean it up. Names are those of the C++ server. */

import { open, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'

import * as v from 'valibot'

import { withoutSecrets } from '../../backends/index.ts'
import { listLocation } from '../../location/index.ts'
import { codeOf, PrestigeError } from '../../platform/errors.ts'
import { isS3 } from '../../platform/s3/address.ts'
import { versionOf } from '../../platform/version.ts'
import type { Store } from '../../store/index.ts'
import { HttpProblem } from '../http/problem.ts'
import { json } from '../http/reply.ts'
import { type AnyRoute, type Call, type Fields, route } from '../http/route.ts'
import type { Measurements } from '../measurements.ts'

const seconds = v.pipe(v.number(), v.minValue(0))
const amount = v.pipe(v.number(), v.integer(), v.minValue(0))
const dryRun = v.optional(v.pipe(v.boolean(), v.description('Only say what would go.')))

const pruneBody = v.strictObject({
  max_age_s: v.optional(v.pipe(seconds, v.description('Keys that were put longer ago go.'))),
  max_idle_s: v.optional(v.pipe(seconds, v.description('Keys not used for longer go.'))),
  dryRun,
})
const evictBody = v.strictObject({
  target_bytes: v.optional(v.pipe(amount, v.description('Until contents take so much.'))),
  target_keys: v.optional(v.pipe(amount, v.description('Until there are so many keys.'))),
  dryRun,
})
const backupBody = v.strictObject({
  target: v.pipe(v.string(), v.minLength(1), v.description('Below a directory that is allowed.')),
})
const verifyBody = v.strictObject({ repair: v.optional(v.boolean()) })
const empty = v.strictObject({})

const done = v.looseObject({ status: v.literal('ok') })
const statsReply = v.looseObject({
  version: v.string(),
  location: v.string(),
  uptimeMs: v.number(),
  kinds: v.array(v.looseObject({ kind: v.string(), namespace: v.string() })),
  operations: v.record(
    v.string(),
    v.object({ calls: v.number(), p50Us: v.number(), p99Us: v.number() }),
  ),
})

export function adminRoutes(measurements: Measurements): AnyRoute[] {
  return [
    route({
      name: 'adminStats',
      method: 'GET',
      path: '/api/v1/admin/stats',
      summary: 'What is stored, and how long operations take',
      tag: 'admin',
      scope: 'admin',
      replies: { 200: { description: 'Statistics', schema: statsReply } },
      handle: (call) => stats(call, measurements),
    }),
    action('sweep', 'Reclaim what nobody refers to', empty, collect),
    action('collect', 'The same as sweep', empty, collect),
    action('prune', 'Delete keys that are old or unused', pruneBody, (store, body) =>
      prune(store, body),
    ),
    action('evict', 'Delete the least recently used keys', evictBody, (store, body) =>
      evict(store, body),
    ),
    action('flush', 'Answers when what was acknowledged is on the disk', empty, flush),
    action('compact', "Give free space of the store's file back", empty, (store) =>
      store.compact(),
    ),
    action('backup', 'Write a backup', backupBody, async (store, { target }, call) => {
      const { roots = [] } = call.services.options
      return store.backup(await allowedTarget(target, roots), { signal: call.signal })
    }),
    action('verify', 'Read everything and say what is wrong', verifyBody, (store, body, call) =>
      store.verify({ repair: body.repair ?? false, signal: call.signal }),
    ),
  ]
}

/** Everything but statistics: a body in, and what was done out. */
function action<B extends Fields>(
  name: string,
  summary: string,
  schema: B,
  act: (store: Store, body: v.InferOutput<B>, call: Call) => Promise<object>,
): AnyRoute {
  return route({
    name: `admin${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    method: 'POST',
    path: `/api/v1/admin/${name}`,
    summary,
    tag: 'admin',
    scope: 'admin',
    body: { kind: 'json', schema, isOptional: true },
    replies: { 200: { description: 'What was done', schema: done } },
    handle: async (call: Call<unknown, v.InferOutput<B>>) => {
      const store = await call.services.store(call.namespace)
      return json({ status: 'ok', ...(await act(store, call.body, call)) })
    },
  })
}

async function collect(store: Store, _: object, { signal }: Call): Promise<object> {
  const collected = await store.collect({ signal })
  return { deleted: collected.expiredKeys + collected.contents, ...collected }
}

async function prune(store: Store, body: v.InferOutput<typeof pruneBody>): Promise<object> {
  const { max_age_s: age, max_idle_s: idle } = body
  if (age === undefined && idle === undefined)
    throw new HttpProblem('INVALID_REQUEST', 'Send max_age_s or max_idle_s: which keys are to go.')
  const gone = await store.prune({
    ...(age !== undefined && { olderThanMs: age * 1000 }),
    ...(idle !== undefined && { idleForMs: idle * 1000 }),
    dryRun: body.dryRun ?? false,
  })
  return { deleted: gone.keys, ...gone }
}

async function evict(store: Store, body: v.InferOutput<typeof evictBody>): Promise<object> {
  const { target_bytes: toBytes, target_keys: toKeys } = body
  if (toBytes === undefined && toKeys === undefined)
    throw new HttpProblem('INVALID_REQUEST', 'Send target_bytes or target_keys: how small.')
  const gone = await store.evict({
    ...(toBytes !== undefined && { toBytes }),
    ...(toKeys !== undefined && { toKeys }),
    dryRun: body.dryRun ?? false,
  })
  return { evicted: gone.keys, ...gone }
}

/** A put is answered when it is on the disk. With durability os that is made up for here, where the disk is this machine's. */
async function flush(_: Store, __: object, { services }: Call): Promise<object> {
  const { location, options } = services
  if (options.store?.durability !== 'os') return { synced: true }
  const file = await open(join(location, 'data.mdb')).catch(() => undefined)
  if (!file) return { synced: false }
  try {
    await file.sync()
  } finally {
    await file.close()
  }
  return { synced: true }
}

async function stats({ services, namespace }: Call, measured: Measurements): Promise<Response> {
  const { location } = services
  const store = await services.store(namespace).catch((error: unknown) => {
    if (error instanceof PrestigeError && error.code === 'STORE_NOT_FOUND') return undefined
    throw error
  })
  const kinds = location === 'memory:' ? [] : await listLocation(location)
  return json({
    version: versionOf(),
    location: withoutSecrets(location),
    uptimeMs: Math.round(performance.now() - services.startedAt),
    kinds,
    ...(store && {
      store: {
        stats: await store.stats(),
        health: await store.health(),
        settings: store.settings,
      },
    }),
    operations: measured.operations(),
  })
}

/** Below one of the roots, links followed. */
async function allowedTarget(target: string, roots: readonly string[]): Promise<string> {
  if (isS3(target)) {
    if (roots.some((root) => isS3(root) && isBelow(target, root, '/'))) return target
  } else {
    const path = await existing(resolve(target))
    for (const root of roots)
      if (!isS3(root) && isBelow(path, await existing(resolve(root)), sep)) return path
  }
  throw new HttpProblem(
    'FORBIDDEN',
    'The target is below no directory that the server may use. Name one with --roots.',
  )
}

function isBelow(path: string, root: string, separator: string): boolean {
  const above = root.endsWith(separator) ? root : `${root}${separator}`
  return path.startsWith(above) && !path.split(separator).includes('..')
}

/** The path without links, of which the last parts need not exist yet. */
async function existing(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
    return join(await existing(dirname(path)), basename(path))
  }
}
