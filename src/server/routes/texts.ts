/** Texts: what is like one, why a key points where it points, how two compare, and which thing a text is. */

import * as v from 'valibot'

import { canonicalNames } from '../../canonical/index.ts'
import { alignTexts, type Comparison, compareTexts } from '../../compare/index.ts'
import { collisionProbability, simHashDistance, simHashOf } from '../../fingerprint/index.ts'
import { HttpProblem } from '../http/problem.ts'
import { json, keyBytesOf, keyForm } from '../http/reply.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'
import { requireScope } from '../security/caller.ts'

const CURVE_STEPS = 50
const SIMHASH_BITS = 64
/** Aligning takes memory and time by the length of both texts. */
const TEXT_BYTES_MAX = 1024 * 1024

const share = v.pipe(v.number(), v.gtValue(0), v.maxValue(1))
const limit = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000))

const similarBody = v.strictObject({
  text: v.string(),
  limit: v.optional(v.pipe(limit, v.description('The most answers (10).'))),
  threshold: v.optional(v.pipe(share, v.description("The least similarity (the store's own)."))),
  containment: v.optional(v.boolean()),
})

const pair = {
  a: v.pipe(v.string(), v.maxBytes(TEXT_BYTES_MAX)),
  b: v.pipe(v.string(), v.maxBytes(TEXT_BYTES_MAX)),
  threshold: v.optional(share),
  profile: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^(?:adaptive|auto|(?:chars|words|codepoints)(?:-\d{1,3})?)$/, 'is no profile'),
    ),
  ),
  canonical: v.optional(v.picklist(canonicalNames)),
}

const compareBody = v.strictObject(pair)
const explainBody = v.union([
  v.strictObject({ key: keyForm, limit: v.optional(limit) }),
  compareBody,
])

const resolveBody = v.strictObject({
  group: v.string(),
  text: v.optional(v.string()),
  vector: v.optional(v.array(v.number())),
  lookup: v.optional(v.pipe(v.boolean(), v.description('Only look: nothing is kept.'))),
})

const compareReply = v.looseObject({
  comparison: v.looseObject({ similarity: v.number(), isDuplicate: v.boolean() }),
  alignment: v.looseObject({ isComplete: v.boolean() }),
  methods: v.array(v.object({ method: v.string(), similarity: v.number() })),
  curve: v.array(v.object({ similarity: v.number(), probability: v.number() })),
  vetoes: v.array(v.looseObject({})),
})

export const textRoutes: AnyRoute[] = [
  route({
    name: 'similar',
    method: 'POST',
    path: '/api/v1/similar',
    summary: 'What in the store is like a text',
    tag: 'store',
    scope: 'read',
    body: { kind: 'json', schema: similarBody },
    replies: {
      200: {
        description: 'The most similar first',
        schema: v.object({ similar: v.array(v.looseObject({ similarity: v.number() })) }),
      },
      400: { description: 'The store finds identical bytes only' },
    },
    handle: similar,
  }),
  route({
    name: 'explain',
    method: 'POST',
    path: '/api/v1/explain',
    summary: 'Why a key points where it points; or, of two texts, the same as compare',
    tag: 'store',
    scope: 'read',
    body: { kind: 'json', schema: explainBody },
    replies: {
      200: { description: 'The explanation', schema: v.looseObject({}) },
      404: { description: 'The key is not there' },
    },
    handle: explain,
  }),
  route({
    name: 'compare',
    method: 'POST',
    path: '/api/v1/compare',
    summary: 'What two texts share',
    tag: 'store',
    scope: 'read',
    body: { kind: 'json', schema: compareBody },
    replies: { 200: { description: 'The comparison', schema: compareReply } },
    handle: ({ body }) => compare(body),
  }),
  route({
    name: 'resolve',
    method: 'POST',
    path: '/api/v1/resolve',
    summary: 'Which thing a text or a vector is',
    tag: 'resolver',
    scope: 'read',
    body: { kind: 'json', schema: resolveBody },
    replies: {
      200: {
        description: 'The resolution; with lookup, {"status": "new"} where it would be new',
        schema: v.looseObject({ status: v.string() }),
      },
    },
    handle: resolve,
  }),
]

async function similar({
  services,
  namespace,
  body,
}: Call<unknown, v.InferOutput<typeof similarBody>>): Promise<Response> {
  const { text, ...options } = body
  const store = await services.store(namespace)
  return json({ similar: await store.similar(text, options) })
}

async function explain({
  services,
  namespace,
  body,
}: Call<unknown, v.InferOutput<typeof explainBody>>): Promise<Response> {
  if (!('key' in body)) return compare(body)
  const store = await services.store(namespace)
  const explanation = await store.explain(keyBytesOf(body.key), {
    ...(body.limit !== undefined && { sharedWithMax: body.limit }),
  })
  if (!explanation) throw new HttpProblem('KEY_NOT_FOUND', 'There is no such key.')
  return json(explanation)
}

function compare({ a, b, ...options }: v.InferOutput<typeof compareBody>): Response {
  const profile = options.profile as Parameters<typeof simHashOf>[1] // safe: the schema allows profiles alone
  const comparison = compareTexts(a, b, { ...options, profile })
  const { canonical } = options
  return json({
    comparison,
    alignment: alignTexts(a, b, { canonical }),
    methods: methodsOf(a, b, comparison),
    curve: curveOf(comparison),
    vetoes: comparison.vetoes,
  })
}

function methodsOf(a: string, b: string, comparison: Comparison): object[] {
  const { similarity, estimate, containment } = comparison
  const [first, second] = [simHashOf(a), simHashOf(b)]
  const isEmpty = first.isEmpty || second.isEmpty
  const distance = isEmpty ? SIMHASH_BITS : simHashDistance(first, second)
  return [
    { method: 'jaccard', similarity },
    { method: 'estimate', similarity: estimate },
    { method: 'simhash', similarity: 1 - distance / SIMHASH_BITS },
    { method: 'containment', similarity: Math.max(containment.aInB, containment.bInA) },
  ]
}

/** How likely two texts are to share a band, by their similarity. */
function curveOf({ banding: { bands, rows } }: Comparison): object[] {
  return Array.from({ length: CURVE_STEPS + 1 }, (_, step) => {
    const similarity = step / CURVE_STEPS
    return { similarity, probability: collisionProbability(similarity, bands, rows) }
  })
}

async function resolve(call: Call<unknown, v.InferOutput<typeof resolveBody>>): Promise<Response> {
  const { services, namespace, caller, body } = call
  const { group, text, vector, lookup = false } = body
  if ((text === undefined) === (vector === undefined))
    throw new HttpProblem('INVALID_REQUEST', 'Send a text or a vector.')
  if (!lookup) requireScope(caller, 'write')
  const resolver = await services.resolver(namespace)
  const value = text ?? Float32Array.from(vector ?? [])
  if (!lookup) return json(await resolver.resolve(group, value))
  return json((await resolver.lookup(group, value)) ?? { status: 'new' })
}
