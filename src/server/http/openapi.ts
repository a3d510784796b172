/** The OpenAPI 3.1 document, made from the routes and from the schemas that requests are checked by. */

import { toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'

import type { AnyRoute, ReplyForm } from './route.ts'

type Json = Readonly<Record<string, unknown>>

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, Json>>
  readonly required?: readonly string[]
}

const PROBLEM = 'application/problem+json'

/** Sent by the pipeline, whatever the route. */
const COMMON: Readonly<Record<number, string>> = {
  400: 'The request cannot be used',
  404: 'It is not there',
  413: 'The body is too long',
  415: 'The body is of another type',
  429: 'The key has used up what it may; Retry-After says when it may again',
  500: 'The server failed',
  503: 'The server has no room, or the store cannot be reached; Retry-After says when to try again',
}

const problem: Json = {
  type: 'object',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', description: 'Stable: docs/errors.md lists all.' },
    requestId: { type: 'string' },
    error: { type: 'string' },
    message: { type: 'string' },
  },
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
}

export function openApiDocument(routes: readonly AnyRoute[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) {
    const at = (paths[route.path] ??= {})
    at[route.method.toLowerCase()] = operationOf(route)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'prestige', version, license: { name: 'Apache-2.0' } },
    paths,
    components: {
      schemas: { Problem: problem },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A key of prestige keys add.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
    },
  }
}

function operationOf(route: AnyRoute): Json {
  const { name, summary, tag, scope } = route
  const body = bodyOf(route)
  return {
    operationId: name,
    summary,
    tags: [tag],
    ...(scope !== 'public' && {
      description: `Needs a key of scope ${scope}, where the server asks for keys.`,
      security: [{ bearer: [] }, { apiKey: [] }, {}],
    }),
    parameters: [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)],
    ...(body && { requestBody: body }),
    responses: responsesOf(route),
  }
}

function pathParameters({ path }: AnyRoute): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters({ query }: AnyRoute): Json[] {
  if (!query) return []
  const { properties = {}, required = [] } = schemaOf(query) as ObjectSchema // safe: a query has named fields
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description: description ?? name,
    schema,
  }))
}

function headerParameters({ headers = {}, path }: AnyRoute): Json[] {
  const known = path.startsWith('/api/')
    ? { ...headers, 'Prestige-Namespace': 'The namespace; without, the one that has no name.' }
    : headers
  return Object.entries(known).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }))
}

function bodyOf({ body }: AnyRoute): Json | undefined {
  if (!body) return undefined
  if (body.kind === 'json')
    return {
      required: body.isOptional !== true,
      content: { 'application/json': { schema: body.schema ? schemaOf(body.schema) : {} } },
    }
  const { contentType, description, line } = body
  return {
    description,
    required: true,
    content: { [contentType]: line ? { schema: schemaOf(line) } : {} },
  }
}

function responsesOf({ replies, scope, body }: AnyRoute): Json {
  const denied =
    scope === 'public' ? {} : { 401: 'A key is needed', 403: 'The key may not do that' }
  const all: Record<string, Json> = {}
  for (const [status, description] of Object.entries({ ...COMMON, ...denied })) {
    if (!body && (status === '413' || status === '415')) continue
    all[status] = problemReply(description)
  }
  for (const [status, reply] of Object.entries(replies)) all[status] = replyOf(status, reply)
  return all
}

function replyOf(status: string, reply: ReplyForm): Json {
  const { description, schema, headers = {} } = reply
  if (status >= '400') return problemReply(description)
  const contentType = reply.contentType ?? (schema && 'application/json')
  const named = Object.entries(headers).map(([name, text]) => [
    name,
    { description: text, schema: { type: 'string' } },
  ])
  return {
    description,
    ...(named.length > 0 && { headers: Object.fromEntries(named) }),
    ...(contentType !== undefined && {
      content: { [contentType]: schema ? { schema: schemaOf(schema) } : {} },
    }),
  }
}

function problemReply(description: string): Json {
  return {
    description,
    content: { [PROBLEM]: { schema: { $ref: '#/components/schemas/Problem' } } },
  }
}

/** What a client sends or is sent: before anything is transformed. */
function schemaOf(schema: v.GenericSchema): Json {
  const { $schema: _, ...made } = toJsonSchema(schema, { typeMode: 'input', errorMode: 'ignore' })
  return made
}
