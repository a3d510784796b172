/** Many puts, gets and deletes in one request: JSON Lines in, and one line of JSON out for each, in order. */

import * as v from 'valibot'

import { LineScanner } from '../../input/index.ts'
import { many } from '../../platform/many.ts'
import type { Store } from '../../store/index.ts'
import { bodyOf, checked, parsed } from '../http/body.ts'
import { failedLine, linesResponse } from '../http/lines.ts'
import { HttpProblem } from '../http/problem.ts'
import { keyBytesOf, keyForm, shown } from '../http/reply.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'
import { requireScope } from '../security/caller.ts'

const operation = v.strictObject({
  op: v.picklist(['put', 'get', 'delete']),
  key: keyForm,
  value: v.optional(v.pipe(v.string(), v.description('Of a put: text.'))),
  base64: v.optional(v.pipe(v.string(), v.base64(), v.description('Of a put: any bytes.'))),
  ttl: v.optional(
    v.pipe(v.number(), v.gtValue(0), v.description('Of a put: seconds until the key expires.')),
  ),
  ifAbsent: v.optional(v.boolean()),
  ifMatch: v.optional(v.pipe(v.string(), v.description('The SHA-256 that the value must have.'))),
  metadata: v.optional(
    v.pipe(v.record(v.string(), v.string()), v.description('Of a put: kept with the key.')),
  ),
})

type Operation = v.InferOutput<typeof operation>

const outcome = v.looseObject({
  ok: v.boolean(),
  key: v.optional(keyForm),
  code: v.optional(v.pipe(v.string(), v.description('Of what failed.'))),
  message: v.optional(v.string()),
})

export const batchRoutes: AnyRoute[] = [
  route({
    name: 'batch',
    method: 'POST',
    path: '/api/v1/kv/_batch',
    summary: 'Put, get and delete many keys',
    tag: 'store',
    scope: 'read',
    body: {
      kind: 'stream',
      contentType: 'application/x-ndjson',
      description:
        'One operation a line: {"op": "put", "key": "a", "value": "…"}. Puts and deletes need a key of scope write.',
      line: operation,
    },
    replies: {
      200: {
        description:
          'One line for each, in the order of the request. One that fails hides no other.',
        contentType: 'application/x-ndjson',
        schema: outcome,
      },
    },
    handle: batch,
  }),
]

/** A line that was read, or why it could not be. */
type Line = { readonly wanted: Operation; readonly bytes: number } | { readonly refused: unknown }

async function batch(call: Call): Promise<Response> {
  const { services, namespace, caller, signal } = call
  const store = await (caller.scope === 'read'
    ? services.store(namespace)
    : services.writable(namespace))
  return linesResponse(
    outcomes(
      many(
        linesOf(call),
        {
          // Operations of one key are done one after another.
          keyOf: (line: Line) => ('wanted' in line ? keyBytesOf(line.wanted.key) : ''),
          weigh: (line) => ('wanted' in line ? line.bytes : 0),
          perform: (line) => perform(store, call, line),
          weighResult: ({ bytes }) => bytes,
        },
        { signal },
      ),
    ),
  )
}

async function* outcomes(
  all: AsyncIterable<
    { readonly key: string | Uint8Array } & (
      | { readonly ok: true; readonly result: Done }
      | { readonly ok: false; readonly error: unknown }
    )
  >,
): AsyncGenerator<object> {
  for await (const one of all) {
    const key = one.key === '' ? {} : { key: shown(Buffer.from(one.key)) }
    if (one.ok) yield { ok: true, ...key, ...one.result.line }
    else yield { ...failedLine(one.error), ...key }
  }
}

async function* linesOf({ request, services }: Call): AsyncGenerator<Line> {
  const { lineBytes, batchLines, valueBytes } = services.limits
  const scanner = new LineScanner(lineBytes, 0, Infinity)
  let left = batchLines
  const scanned = function* (): Generator<Line> {
    while (scanner.next()) {
      if (scanner.length === 0) continue
      if (left-- === 0)
        throw new HttpProblem('BODY_TOO_LARGE', `A batch may have ${batchLines} lines here.`)
      yield lineIn(scanner)
    }
  }
  for await (const piece of bodyOf(request, Math.max(valueBytes, lineBytes))) {
    scanner.feed(Buffer.from(piece))
    yield* scanned()
  }
  scanner.end()
  yield* scanned()
}

function lineIn({ number, isTooLong, bytesMax, bytes }: LineScanner): Line {
  const what = `Line ${number + 1}`
  try {
    if (isTooLong)
      throw new HttpProblem('BODY_TOO_LARGE', `${what}: a line may have ${bytesMax} bytes here.`)
    const wanted = checked(operation, parsed(bytes, what), what) as Operation // safe: it was checked by this schema
    return { wanted, bytes: bytes.byteLength }
  } catch (refused) {
    return { refused }
  }
}

interface Done {
  readonly line: object
  /** That the answer holds. */
  readonly bytes: number
}

async function perform(store: Store, { caller }: Call, line: Line): Promise<Done> {
  if ('refused' in line) throw line.refused
  const { op, ifAbsent, ifMatch, ttl, metadata, ...wanted } = line.wanted
  const key = keyBytesOf(wanted.key)
  if (op === 'get') {
    const found = await store.getWithHead(key)
    const value = found?.value ?? (found && (await store.get(key)))
    if (!found || !value) throw new HttpProblem('KEY_NOT_FOUND', 'There is no such key.')
    const { metadata: kept } = found.head
    return {
      line: { value: shown(value), ...(kept && { metadata: kept }) },
      bytes: value.byteLength,
    }
  }
  requireScope(caller, 'write')
  if (op === 'delete') {
    const existed = await store.delete(key, { ...(ifMatch !== undefined && { ifMatch }) })
    return { line: { existed }, bytes: 0 }
  }
  const receipt = await store.put(key, valueOf(wanted), {
    ...(ifAbsent !== undefined && { ifAbsent }),
    ...(ifMatch !== undefined && { ifMatch }),
    ...(ttl !== undefined && { ttlMs: Math.ceil(ttl * 1000) }),
    ...(metadata !== undefined && { metadata }),
  })
  return { line: { receipt }, bytes: 0 }
}

function valueOf({ value, base64 }: Pick<Operation, 'value' | 'base64'>): Buffer {
  if (value !== undefined && base64 === undefined) return Buffer.from(value)
  if (base64 !== undefined && value === undefined) return Buffer.from(base64, 'base64')
  throw new HttpProblem('INVALID_REQUEST', 'A put has a value, or its bytes as base64.')
}
