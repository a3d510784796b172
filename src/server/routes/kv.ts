/** One key: its value in, out and away. Values stream in both directions. */

import { isUtf8 } from 'node:buffer'

import * as v from 'valibot'

import { PrestigeError } from '../../platform/errors.ts'
import { headerText } from '../../platform/value-text.ts'
import type { PutOptions, Receipt, ValueWithHead } from '../../store/index.ts'
import { bodyBytes, bodyOf, parsed, refuseLongBody } from '../http/body.ts'
import { contentRange, rangeOf } from '../http/byte-range.ts'
import { conditionOf, isKnown, tagOf } from '../http/conditions.ts'
import { lightResponse } from '../http/light.ts'
import { metadataHeaders, sentMetadata } from '../http/metadata-headers.ts'
import { HttpProblem } from '../http/problem.ts'
import { json, keyForm, shown } from '../http/reply.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'

/** A body of at most this length is read whole: the store keeps it in one transaction. */
const WHOLE_BYTES = 64 * 1024
/** What is stored may be a page: it must not run as one of this server's. */
const VALUE_POLICY = "default-src 'none'; sandbox"

const CONDITIONS = {
  'If-Match': 'The SHA-256 that the value must have, in quotes; `*`: any, if the key is there.',
  'If-None-Match':
    '`*`: only if the key is not there. A SHA-256 in quotes: only if the value is another.',
}

const METADATA = {
  'Prestige-Meta-NAME': 'Metadata of the key; what is not printable ASCII is percent-encoded.',
}

const putReply = v.object({
  status: v.literal('ok'),
  key: keyForm,
  receipt: v.pipe(
    v.looseObject({}),
    v.description('What the put did: see the documentation of receipts.'),
  ),
})

export const kvRoutes: AnyRoute[] = [
  route({
    name: 'put',
    method: 'PUT',
    path: '/api/v1/kv/{key}',
    summary: 'Keep a value under a key',
    tag: 'store',
    scope: 'write',
    headers: {
      ...CONDITIONS,
      'Prestige-TTL': 'Seconds until the key expires.',
      'Prestige-Meta-NAME':
        'Metadata of the key, by any NAME of letters, digits and hyphens. Content-Type is kept as well.',
      'Prestige-Body': '`raw`: a JSON body that has `value` is kept as it is.',
    },
    body: {
      kind: 'stream',
      contentType: '*/*',
      description: 'The value; or {"value": "…"} as application/json, of which the text is kept.',
    },
    replies: {
      201: { description: 'It is kept', schema: putReply },
      412: { description: 'The condition is not met' },
      413: { description: 'The value is too long' },
    },
    handle: put,
  }),
  route({
    name: 'get',
    method: 'GET',
    path: '/api/v1/kv/{key}',
    summary: 'The value of a key, or a range of it',
    tag: 'store',
    scope: 'read',
    headers: { ...CONDITIONS, Range: 'Such as bytes=0-99.' },
    replies: {
      200: { description: 'The very bytes that were put', contentType: '*/*', headers: METADATA },
      206: { description: 'The range of them', contentType: '*/*', headers: METADATA },
      304: { description: 'The value is the one that the client has' },
      404: { description: 'The key is not there' },
      416: { description: 'The value has no such range' },
    },
    handle: get,
  }),
  route({
    name: 'delete',
    method: 'DELETE',
    path: '/api/v1/kv/{key}',
    summary: 'Delete a key',
    tag: 'store',
    scope: 'write',
    headers: { 'If-Match': CONDITIONS['If-Match'] },
    replies: {
      204: { description: 'It is gone' },
      404: { description: 'The key is not there' },
      412: { description: 'The condition is not met' },
    },
    handle: remove,
  }),
]

function keyOf({ path }: Call): Buffer {
  return path['key'] ?? Buffer.alloc(0)
}

async function put(call: Call): Promise<Response> {
  const { request, services, namespace } = call
  const { valueBytes } = services.limits
  refuseLongBody(request, valueBytes)
  const store = await services.writable(namespace)
  const { value, isUnwrapped } = await valueOf(request, valueBytes)
  const options: PutOptions = {
    ...conditionOf(request),
    ...ttlOf(request),
    ...sentMetadata(request, isUnwrapped),
    // What has come whole is put, whether or not its client has gone meanwhile.
    signal: Buffer.isBuffer(value) ? undefined : call.signal,
  }
  const receipt = await store.put(keyOf(call), value, options)
  return json(
    { status: 'ok', key: shown(keyOf(call)), receipt },
    { status: 201, headers: receiptHeaders(receipt) },
  )
}

interface SentValue {
  readonly value: Buffer | AsyncIterable<Uint8Array>
  /** It was the text of a JSON object. */
  readonly isUnwrapped: boolean
}

/** Short ones whole, others as they come. */
async function valueOf(request: Request, bytesMax: number): Promise<SentValue> {
  const length = Number(request.headers.get('content-length') ?? Number.NaN)
  if (isWrapped(request)) return unwrapped(await bodyBytes(request, bytesMax))
  const value =
    length <= WHOLE_BYTES ? await bodyBytes(request, bytesMax) : bodyOf(request, bytesMax)
  return { value, isUnwrapped: false }
}

function isWrapped({ headers }: Request): boolean {
  const isRaw = headers.get('prestige-body') === 'raw'
  return !isRaw && /^application\/json\b/i.test(headers.get('content-type') ?? '')
}

/** `{"value": "…"}` is unwrapped. JSON without `value` is a value itself; what is between the two is refused. */
function unwrapped(bytes: Buffer): SentValue {
  const sent = parsed(bytes, 'The body')
  if (typeof sent !== 'object' || sent === null || !Object.hasOwn(sent, 'value'))
    return { value: bytes, isUnwrapped: false }
  const { value, ...others } = Object(sent)
  const [other] = Object.keys(others)
  if (typeof value === 'string' && other === undefined)
    return { value: Buffer.from(value), isUnwrapped: true }
  const problem =
    other === undefined
      ? 'value is not text'
      : `${JSON.stringify(other.slice(0, 100))} stands beside value`
  const hint = other === 'ttl' ? ' A time to live is sent as Prestige-TTL, in seconds.' : ''
  throw new HttpProblem(
    'INVALID_REQUEST',
    `Of a body {"value": "text"} the text is kept, and here ${problem}. Send Prestige-Body: raw to keep the JSON as it is.${hint}`,
  )
}

function ttlOf({ headers }: Request): Pick<PutOptions, 'ttlMs'> {
  const sent = headers.get('prestige-ttl')
  if (sent === null) return {}
  const seconds = /^\d+(?:\.\d+)?$/.test(sent) ? Number(sent) : 0
  if (seconds > 0) return { ttlMs: Math.ceil(seconds * 1000) }
  throw new HttpProblem('INVALID_REQUEST', 'Prestige-TTL is a number of seconds greater than 0.')
}

function receiptHeaders(receipt: Receipt): Record<string, string> {
  const { key, content, method, of, bytesSaved, expiresAt } = receipt
  return {
    'prestige-key': key,
    'prestige-content': content,
    'prestige-bytes-saved': String(bytesSaved),
    ...(method && { 'prestige-method': method }),
    ...(of && { 'prestige-of': headerText(of.firstKey.toString('latin1')) }),
    ...(expiresAt !== undefined && { 'prestige-expires': new Date(expiresAt).toISOString() }),
  }
}

async function get(call: Call): Promise<Response> {
  const { request, services, namespace } = call
  const key = keyOf(call)
  const store = await services.store(namespace)
  const found = await store.getWithHead(key)
  if (!found) throw notFound()
  const { head, value } = found
  const headers = headHeaders(request, found)
  if (isKnown(request, head.digest)) return new Response(undefined, { status: 304, headers })
  if (request.method !== 'HEAD' && wantsJson(request)) return jsonOf(key, found)
  const range = rangeOf(request, head)
  const length = range ? range.end - range.start : head.bytes
  const status = range ? 206 : 200
  headers['content-length'] = String(length)
  if (range) headers['content-range'] = contentRange(range, head.bytes)
  if (request.method === 'HEAD') return new Response(undefined, { status, headers })
  if (value) return lightResponse(value.subarray(range?.start, range?.end), status, headers)
  const body = found.stream({ ...range, signal: call.signal })
  return new Response(body, { status, headers })
}

/** As the C++ server answers those who accept JSON. */
function jsonOf(key: Buffer, { head, value }: ValueWithHead): Response {
  const { metadata } = head
  if (value)
    return json(
      { key: shown(key), value: shown(value), ...(metadata && { metadata }) },
      { headers: { etag: tagOf(head.digest), vary: 'accept' } },
    )
  throw new HttpProblem(
    'INVALID_REQUEST',
    `The value has ${head.bytes} bytes, which is too long for JSON. Ask for it without Accept: application/json.`,
  )
}

function notFound(): PrestigeError {
  return new PrestigeError('KEY_NOT_FOUND', 'There is no such key.')
}

function headHeaders(request: Request, { head, value }: ValueWithHead): Record<string, string> {
  const isText = value && isUtf8(value)
  const type = isText ? 'text/plain; charset=utf-8' : 'application/octet-stream'
  const putAt = new Date(head.putAt)
  const headers = metadataHeaders(request, head.metadata, type)
  headers['vary'] = 'accept, sec-fetch-dest'
  headers['content-security-policy'] = VALUE_POLICY
  headers['accept-ranges'] = 'bytes'
  headers['etag'] = tagOf(head.digest)
  headers['prestige-content-id'] = head.contentId
  headers['prestige-put-at'] = putAt.toISOString()
  headers['last-modified'] = putAt.toUTCString()
  headers['cache-control'] = 'private, no-cache'
  if (head.expiresAt !== undefined)
    headers['prestige-expires'] = new Date(head.expiresAt).toISOString()
  return headers
}

function wantsJson({ headers }: Request): boolean {
  return /\bapplication\/json\b/i.test(headers.get('accept') ?? '')
}

async function remove(call: Call): Promise<Response> {
  const { ifMatch } = conditionOf(call.request)
  const store = await call.services.store(call.namespace)
  const existed = await store.delete(keyOf(call), {
    ...(ifMatch !== undefined && { ifMatch }),
    signal: call.signal,
  })
  if (!existed) throw notFound()
  return new Response(undefined, { status: 204 })
}
