/** Chooses a threshold by labelled pairs. Needs no runs and no store. */

import * as v from 'valibot'

import { tune, type TuneOptions } from '../../compare/index.ts'
import { json } from '../http/reply.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'

const share = (help: string) =>
  v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1), v.description(help)))

const tuneBody = v.strictObject({
  pairs: v.pipe(
    v.array(
      v.looseObject({
        a: v.string(),
        b: v.string(),
        isDuplicate: v.optional(v.nullable(v.boolean())),
      }),
    ),
    v.minLength(1),
    v.description('What people say of pairs; those without isDuplicate may be proposed as next.'),
  ),
  precision: share('The lowest threshold with this precision, proven with 95 % confidence.'),
  recallMin: share('The highest threshold with this recall; not with precision.'),
  profile: v.optional(v.pipe(v.string(), v.description('How texts are cut into shingles.'))),
  canonical: v.optional(v.pipe(v.string(), v.description('The form in which they are compared.'))),
  slots: v.optional(v.number()),
})

export const tuneRoutes: AnyRoute[] = [
  route({
    name: 'tune',
    method: 'POST',
    path: '/api/v1/tune',
    summary: 'Precision and recall of every threshold on labelled pairs, and the best one',
    tag: 'tuning',
    scope: 'read',
    body: { kind: 'json', schema: tuneBody },
    replies: {
      200: {
        description: 'The threshold, with bands, and what every other one would have got right',
        schema: v.looseObject({
          threshold: v.number(),
          thresholds: v.array(v.looseObject({ threshold: v.number() })),
        }),
      },
      400: { description: 'The pairs do not prove the precision, or are of one kind' },
    },
    handle: tuned,
  }),
]

function tuned({ body }: Call<unknown, v.InferOutput<typeof tuneBody>>): Response {
  const { pairs, ...options } = body
  const labelled = pairs.map(({ a, b, isDuplicate }) => ({
    a,
    b,
    isDuplicate: isDuplicate ?? undefined,
  }))
  // safe: tune refuses names that are no profile and no form
  return json(tune(labelled, options as TuneOptions))
}
