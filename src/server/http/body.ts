/** The body of a request, which is never longer than allowed, whatever its headers say. */

import * as v from 'valibot'

import { sentProblems } from '../../platform/options.ts'
import { LightRequest } from './light.ts'
import { HttpProblem } from './problem.ts'
import type { Fields } from './route.ts'

/** A length that was announced is refused before anything is read. */
export function refuseLongBody(request: Request, bytesMax: number): void {
  const announced = Number(request.headers.get('content-length') ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
}

function tooLarge(bytesMax: number): HttpProblem {
  return new HttpProblem('BODY_TOO_LARGE', `A body may have ${bytesMax} bytes here.`)
}

/** What the client sends, as it comes. Fails as soon as it is longer than allowed. */
export async function* bodyOf(request: Request, bytesMax: number): AsyncGenerator<Uint8Array> {
  const source = request instanceof LightRequest ? request.source() : request.body
  if (!source) return
  let length = 0
  for await (const piece of source) {
    length += piece.byteLength
    if (length > bytesMax) throw tooLarge(bytesMax)
    yield piece
  }
}

/** The whole of a short body. */
export async function bodyBytes(request: Request, bytesMax: number): Promise<Buffer> {
  if (request instanceof LightRequest) return request.whole(bytesMax, () => tooLarge(bytesMax))
  const pieces: Uint8Array[] = []
  for await (const piece of bodyOf(request, bytesMax)) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** A body of JSON, checked. What is wrong is said in the names that were sent. */
export async function jsonBody(
  request: Request,
  {
    schema,
    isOptional,
  }: { readonly schema: Fields | undefined; readonly isOptional?: true | undefined },
  bytesMax: number,
): Promise<object> {
  const bytes = await bodyBytes(request, bytesMax)
  if (bytes.byteLength === 0 && isOptional) return checked(schema, {}, 'The body')
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type))
    throw new HttpProblem(
      'UNSUPPORTED_MEDIA_TYPE',
      'This path takes a body of JSON: send content-type: application/json.',
    )
  return checked(schema, parsed(bytes, 'The body'), 'The body')
}

export function parsed(bytes: Buffer | string, what: string): unknown {
  try {
    return JSON.parse(typeof bytes === 'string' ? bytes : strictText(bytes, what))
  } catch (error) {
    if (error instanceof HttpProblem) throw error
    throw new HttpProblem(
      'INVALID_REQUEST',
      `${what} is not JSON: ${String(error instanceof Error ? error.message : error)}`,
    )
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

function strictText(bytes: Buffer, what: string): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new HttpProblem('INVALID_REQUEST', `${what} is not UTF-8.`)
  }
}

/** `what`: of which it is said that it cannot be used, such as `The query`. */
export function checked(schema: Fields | undefined, input: unknown, what: string): object {
  if (!schema) return {}
  const read = v.safeParse(schema, input)
  if (read.success) return read.output
  throw new HttpProblem('INVALID_REQUEST', sentProblems(schema, read.issues, what))
}

/** The parameters of a query. One that is given twice is refused, rather than one of the two left out. */
export function queryOf(query: string, schema: Fields | undefined): object {
  if (query === '' && !schema) return {}
  const parameters = new URLSearchParams(query)
  const fields: Record<string, string> = Object.create(null)
  for (const [name, value] of parameters) {
    if (name in fields)
      throw new HttpProblem('INVALID_REQUEST', `The query has ${name} more than once.`)
    fields[name] = value
  }
  if (!schema && parameters.size > 0)
    throw new HttpProblem('INVALID_REQUEST', 'This path takes no query.')
  return checked(schema, { ...fields }, 'The query')
}
