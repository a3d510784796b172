/** Who is calling, and what they may do. */

import { HttpProblem } from '../http/problem.ts'
import { type Scope, scopes } from '../http/route.ts'

export interface Caller {
  /** The id of the key, which is no secret; `anonymous` where no keys are asked for. */
  readonly id: string
  readonly scope: Scope
  /** Those it may use; absent: all. */
  readonly namespaces?: ReadonlySet<string> | undefined
}

/** Where no keys are asked for, which is allowed on a loopback address alone. */
export const ANYBODY: Caller = Object.freeze({ id: 'anonymous', scope: 'admin' })

export function requireScope({ scope }: Caller, needed: Scope): void {
  if (scopes.indexOf(scope) >= scopes.indexOf(needed)) return
  throw new HttpProblem(
    'FORBIDDEN',
    `This needs a key of scope ${needed}; the scope of this key is ${scope}.`,
  )
}

/** The unnamed namespace is spelt as an empty name. */
export function requireNamespace({ namespaces }: Caller, namespace: string | undefined): void {
  if (!namespaces || namespaces.has(namespace ?? '')) return
  throw new HttpProblem('FORBIDDEN', 'This key may not use this namespace.')
}
