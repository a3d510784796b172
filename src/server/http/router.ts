/** Finds the route of a request by the path as it was sent: parts are decoded after the path has been taken apart. */

import { HttpProblem } from './problem.ts'
import type { AnyRoute } from './route.ts'

export interface Match {
  readonly route: AnyRoute
  readonly path: Readonly<Record<string, Buffer>>
}

/** The routes of one path, by method. */
interface Compiled {
  readonly path: string
  readonly same: Map<string, AnyRoute>
  readonly parts: readonly string[]
}

/** Of `/api/v1/kv/{key}`. */
const KEY_PARTS = ['api', 'v1', 'kv']

export class Router {
  readonly #byLength = new Map<number, Compiled[]>()
  /** Those of all paths below one. */
  readonly #below: Compiled[] = []

  constructor(routes: readonly AnyRoute[]) {
    for (const route of routes) {
      const parts = partsOf(route.path)
      const isBelow = route.path.endsWith('*}')
      const all = isBelow ? this.#below : (this.#byLength.get(parts.length) ?? [])
      const known = all.find(({ path }) => path === route.path)
      if (known) {
        known.same.set(route.method, route)
        continue
      }
      const same = new Map<string, AnyRoute>([[route.method, route]])
      all.push({ path: route.path, same, parts: isBelow ? parts.slice(0, -1) : parts })
      // What is spelt out comes before what is named: `_count` is not a key.
      all.sort((a, b) => namesIn(a.parts) - namesIn(b.parts))
      if (!isBelow) this.#byLength.set(parts.length, all)
    }
  }

  /** A HEAD of what only has a GET is answered by it; the body is left out by whoever sends it. */
  find(method: string, pathname: string): Match {
    const parts = partsOf(pathname)
    const first = this.#first(parts)
    const found = first.same.get(method) ?? (method === 'HEAD' ? first.same.get('GET') : undefined)
    if (!found) throw notAllowed([...first.same.keys()])
    return { route: found, path: named(first, parts) }
  }

  #first(parts: readonly string[]): Compiled {
    for (const one of this.#byLength.get(parts.length) ?? []) if (fits(one, parts)) return one
    for (const one of this.#below)
      if (one.parts.length < parts.length && fits(one, parts)) return one
    throw this.#notFound(parts)
  }

  #notFound(parts: readonly string[]): HttpProblem {
    const key = parts.slice(KEY_PARTS.length).join('%2F')
    const isKey = parts.length > KEY_PARTS.length && fits({ parts: KEY_PARTS }, parts)
    const hint = isKey
      ? ` A / within a key is written %2F: ${['', ...KEY_PARTS, key.slice(0, 200)].join('/')}.`
      : ''
    return new HttpProblem(
      'ROUTE_NOT_FOUND',
      `There is nothing at this path. GET /openapi.json lists all paths.${hint}`,
    )
  }
}

function notAllowed(known: readonly string[]): HttpProblem {
  const methods = known.join(', ')
  return new HttpProblem('METHOD_NOT_ALLOWED', `This path knows ${methods}.`, { allow: methods })
}

function partsOf(path: string): string[] {
  const parts = path.split('/')
  parts.shift()
  return parts
}

function isName(part: string): boolean {
  return part.startsWith('{')
}

function namesIn(parts: readonly string[]): number {
  return parts.filter(isName).length
}

function fits({ parts }: Pick<Compiled, 'parts'>, asked: readonly string[]): boolean {
  for (const [at, part] of parts.entries()) {
    if (isName(part) ? asked[at] === '' : part !== asked[at]) return false
  }
  return true
}

function named({ parts }: Compiled, asked: readonly string[]): Record<string, Buffer> {
  const path: Record<string, Buffer> = {}
  parts.forEach((part, at) => {
    if (isName(part)) path[part.slice(1, -1)] = percentDecoded(asked[at] ?? '')
  })
  return path
}

/** The bytes that a part of a path stands for. They need not be UTF-8: a key may be any bytes. */
export function percentDecoded(text: string): Buffer {
  if (!text.includes('%')) return Buffer.from(text)
  const pieces: Buffer[] = []
  let at = 0
  for (const { 0: escape, index } of text.matchAll(/%(?:[0-9a-f]{2})?/gi)) {
    if (escape.length !== 3)
      throw new HttpProblem(
        'INVALID_REQUEST',
        'The path has a % that two hexadecimal digits do not follow.',
      )
    pieces.push(Buffer.from(text.slice(at, index)), Buffer.from(escape.slice(1), 'hex'))
    at = index + 3
  }
  pieces.push(Buffer.from(text.slice(at)))
  return Buffer.concat(pieces)
}
