/**
 * A route is data: what it is called, who may call it, what it takes and what it answers. Requests are validated by the
 * same schemas that the OpenAPI document is made from, so that the two cannot differ.
 */

import type * as v from 'valibot'

import type { Caller } from '../security/caller.ts'
import type { Services } from '../services.ts'

/** What a key allows: each one allows what is before it, too. */
export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]

export type Method = 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE' | 'PATCH' | 'OPTIONS'

/** The parameters of a query or the fields of a body. */
export type Fields = v.GenericSchema<object, object>

/** What a request brings along, if its route takes a body. */
export type BodyForm<B extends Fields | undefined> =
  | { readonly kind: 'json'; readonly schema: B; readonly isOptional?: true }
  /** Read by the route itself, as it comes. */
  | {
      readonly kind: 'stream'
      readonly contentType: string
      readonly description: string
      /** Of each line of JSON Lines. */
      readonly line?: v.GenericSchema
    }

export interface ReplyForm {
  readonly description: string
  readonly contentType?: string
  /** Of JSON, and of each line of JSON Lines. */
  readonly schema?: v.GenericSchema
  readonly headers?: Readonly<Record<string, string>>
}

/** What a handler is given: everything of a request that it may use, checked. */
export interface Call<Q = unknown, B = unknown> {
  readonly request: Request
  /** The parts of the path that have names, percent-decoded: bytes, as a key may be any. */
  readonly path: Readonly<Record<string, Buffer>>
  readonly query: Q
  readonly body: B
  /** The namespace asked for, which the caller may use. */
  readonly namespace: string | undefined
  readonly caller: Caller
  readonly services: Services
  readonly requestId: string
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
}

export interface Route<Q extends Fields = Fields, B extends Fields = Fields> {
  /** The operation's name in the OpenAPI document. */
  readonly name: string
  readonly method: Method
  /** Such as `/api/v1/kv/{key}`, or `/proxy/{path*}` for all paths below. */
  readonly path: string
  readonly summary: string
  readonly tag: string
  /** `public`: nobody is asked for a key. */
  readonly scope: Scope | 'public'
  readonly query?: Q | undefined
  /** The query is anything, and is read by the route itself. */
  readonly passesQuery?: true
  /** Names of request headers that it knows, with what they mean. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: BodyForm<B> | undefined
  readonly replies: Readonly<Record<number, ReplyForm>>
  handle(call: Call<v.InferOutput<Q>, v.InferOutput<B>>): Promise<Response> | Response
}

/** A route whose schemas have been forgotten by the compiler: the router validates by them before it calls the handler. */
export type AnyRoute = Omit<Route, 'handle'> & { handle(call: Call): Promise<Response> | Response }

export function route<Q extends Fields, B extends Fields>(form: Route<Q, B>): AnyRoute {
  return form
}
