/** Documents of runs: what became of them and why, and the pairs that a person should look at. */

import * as v from 'valibot'

import { type Deduper, type DocumentExplanation, rejectsOf, similarId } from '../../dedupe/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { json } from '../http/reply.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'
import { countForm, jobsOf, limitQuery, partOf } from './state.ts'

const PAIRS_MAX = 1000

const fileQuery = v.strictObject({
  file: v.optional(
    v.pipe(v.string(), v.description('Only of this file, where several have the id.')),
  ),
})

const pairsQuery = v.strictObject({
  ...limitQuery('count', PAIRS_MAX, 'How many of each decision (20).').entries,
  searched: countForm(
    1_000_000,
    'Pairs below the threshold are searched for around so many documents (100000).',
  ),
})

const found = v.object({ documents: v.array(v.looseObject({ id: v.string() })) })

export const documentRoutes: AnyRoute[] = [
  route({
    name: 'getDocument',
    method: 'GET',
    path: '/api/v1/documents/{id}',
    summary: 'The documents of an id, with their texts',
    tag: 'runs',
    scope: 'read',
    query: fileQuery,
    replies: { 200: { description: 'One for each file that has the id', schema: found } },
    handle: show,
  }),
  route({
    name: 'explainDocument',
    method: 'GET',
    path: '/api/v1/documents/{id}/why',
    summary: 'Why a document was kept, dropped, linked or rejected, and what would change it',
    tag: 'runs',
    scope: 'read',
    query: fileQuery,
    replies: {
      200: {
        description:
          'One explanation for each file that has the id, with both texts and how they align; pieces of input that are no documents are in `rejected`.',
        schema: found,
      },
    },
    handle: why,
  }),
  route({
    name: 'closePairs',
    method: 'GET',
    path: '/api/v1/pairs',
    summary: 'The pairs nearest to the threshold on both sides, to be looked at and labelled',
    tag: 'runs',
    scope: 'read',
    query: pairsQuery,
    replies: {
      200: {
        description: 'Pairs with their texts',
        schema: v.looseObject({ calls: v.array(v.looseObject({})), threshold: v.number() }),
      },
    },
    handle: pairs,
  }),
]

type FileCall = Call<v.InferOutput<typeof fileQuery>>

function show(call: FileCall): Promise<Response> {
  const id = partOf(call, 'id')
  return jobsOf(call).withState(async (deduper) => {
    const documents = await deduper.documents(id, call.query)
    if (documents.length === 0) throw await missing(deduper, id)
    return json({ documents })
  })
}

function why(call: FileCall): Promise<Response> {
  const id = partOf(call, 'id')
  return jobsOf(call).withState(async (deduper) => {
    const explained = await deduper.why(id, call.query)
    const rejected = explained.length > 0 ? [] : await rejectsOf(deduper.backend, id, call.query)
    if (explained.length === 0 && rejected.length === 0) throw await missing(deduper, id)
    const documents: object[] = []
    for (const one of explained) documents.push({ ...one, ...(await alignment(deduper, one)) })
    return json({ documents, ...(rejected.length > 0 && { rejected }) })
  })
}

/** With what it was measured against, or with the nearest of those that it is no duplicate of. */
async function alignment(
  { config }: Deduper,
  { text, against, nearest }: DocumentExplanation,
): Promise<object> {
  const other = against ?? nearest?.[0]
  if (text === undefined || other?.text === undefined) return {}
  const { alignedTexts } = await import('../../report/index.ts')
  return {
    alignment: { with: other.key, ...alignedTexts(text, other.text, config.canonical.profile) },
  }
}

async function missing({ backend }: Deduper, id: string): Promise<PrestigeError> {
  const similar = await similarId(backend, id)
  const hint = similar === undefined ? '' : ` Did you mean ${JSON.stringify(similar)}?`
  const name = JSON.stringify(id.slice(0, 200))
  return new PrestigeError('KEY_NOT_FOUND', `There is no document ${name} in these runs.${hint}`)
}

function pairs(call: Call<v.InferOutput<typeof pairsQuery>>): Promise<Response> {
  const { count, searched } = call.query
  return jobsOf(call).withState(async (deduper) =>
    json(await deduper.closeCalls({ count, searchedMax: searched, signal: call.signal })),
  )
}
