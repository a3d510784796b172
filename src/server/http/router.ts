/** Finds the route of a request by the path as it was sent: parts are decoded after the path has been taken apart. */

import { HttpProblem } from './problem.ts'
import type { AnyRoute } from './route.ts'

export interface Match {
  readonly route: AnyRoute
  readonly path: Readonly<Record<string, Buffer>>
}

interface Compiled {
  readonly route: AnyRoute
  readonly parts: readonly string[]
}

export class Router {
  readonly #byLength = new Map<number, Compiled[]>()
  /** Those of all paths below one. */
  readonly #below: Compiled[] = []

  constructor(routes: readonly AnyRoute[]) {
    for (const route of routes) {
      const parts = partsOf(route.path)
      if (route.path.endsWith('*}')) {
        this.#below.push({ route, parts: parts.slice(0, -1) })
        continue
      }
      const same = this.#byLength.get(parts.length) ?? []
      same.push({ route, parts })
      // What is spelt out comes before what is named: `_count` is not a key.
      same.sort((a, b) => namesIn(a.parts) - namesIn(b.parts))
      this.#byLength.set(parts.length, same)
    }
  }

  /** A HEAD of what only has a GET is answered by it; the body is left out by whoever sends it. */
  find(method: string, pathname: string): Match {
    const parts = partsOf(pathname)
    const exact = (this.#byLength.get(parts.length) ?? []).filter((one) => fits(one, parts))
    const below = () =>
      this.#below.filter((one) => one.parts.length < parts.length && fits(one, parts))
    const matching = exact.length > 0 ? exact : below()
    if (matching.length === 0)
      throw new HttpProblem(
        'ROUTE_NOT_FOUND',
        'There is nothing at this path. GET /openapi.json lists all paths.',
      )
    const [first] = matching
    const same = matching.filter((one) => one.route.path === first?.route.path)
    const of = (name: string) => same.find(({ route }) => route.method === name)
    const found = of(method) ?? (method === 'HEAD' ? of('GET') : undefined)
    if (!found) throw notAllowed(same)
    return { route: found.route, path: named(found, parts) }
  }
}

function notAllowed(same: readonly Compiled[]): HttpProblem {
  const methods = same.map(({ route }) => route.method).join(', ')
  return new HttpProblem('METHOD_NOT_ALLOWED', `This path knows ${methods}.`, { allow: methods })
}

function partsOf(path: string): string[] {
  return path.split('/').slice(1)
}

function isName(part: string): boolean {
  return part.startsWith('{')
}

function namesIn(parts: readonly string[]): number {
  return parts.filter(isName).length
}

function fits({ parts }: Compiled, asked: readonly string[]): boolean {
  return parts.every((part, at) => (isName(part) ? asked[at] !== '' : part === asked[at]))
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
