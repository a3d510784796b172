/**
 * How cells are laid out. All of a namespace is in a few keys that share a hash tag, and so a slot:
 *
 *     {prestige:mine}=entries    a hash: key of the row → version (8 bytes), value
 *     {prestige:mine}<entries    a sorted set of the keys of an ordered space, all of score 0
 *     {prestige:mine}+tallies    a hash: key of the tally → its sum in decimal
 *     {prestige:mine}!9f…        a set: versions that one session has applied and not yet heard of
 *
 * One hash a space instead of one string a row: half the memory, no prefix before every key, and a namespace
 * can be removed at once. A prefix has no colon, so no prefix and namespace read like another pair; a tag is
 * never empty, which would spread a namespace over all slots.
 */

import type { Redis } from 'ioredis'

import { latin1, utf8 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { BackendOptions, Space } from '../contract.ts'
import { namespacePrefix } from '../kit/namespace.ts'

export const VERSION_BYTES = 8

export interface SpaceKeys {
  readonly isTally: boolean
  /** The hash of the values. */
  readonly rows: Buffer
  /** The sorted set of the keys, of an ordered space. */
  readonly order: Buffer | undefined
}

export class Keys {
  readonly #tag: Buffer
  readonly #spaces = new Map<string, SpaceKeys>()

  constructor(prefix: string, { namespace = '', spaces }: BackendOptions) {
    namespacePrefix(namespace) // refuses what no backend takes
    const name = utf8(namespace, 'INVALID_OPTIONS', 'The namespace')
    this.#tag = Buffer.concat([Buffer.from(`{${prefix}:`), name, Buffer.from('}')])
    for (const space of spaces) this.#spaces.set(space.name, this.#keysOf(space))
  }

  of(space: Space<unknown>): SpaceKeys {
    const keys = this.#spaces.get(space.name)
    if (keys) return keys
    throw new PrestigeError(
      'BODY_MISUSE',
      `Space ${space.name} is not one this backend was opened with.`,
    )
  }

  /** Where a session remembers what it has applied. */
  session(name: string): Buffer {
    return this.#key('!', name)
  }

  /** All but the sessions, with the type of Redis they have. */
  *all(): Generator<{ key: Buffer; type: 'hash' | 'zset' }> {
    for (const { rows, order } of this.#spaces.values()) {
      yield { key: rows, type: 'hash' }
      if (order) yield { key: order, type: 'zset' }
    }
  }

  /** For messages. */
  get tag(): string {
    return latin1(this.#tag)
  }

  #keysOf({ name, kind, ordered }: Space<unknown>): SpaceKeys {
    const isTally = kind === 'tallies'
    return {
      isTally,
      rows: this.#key(isTally ? '+' : '=', name),
      order: ordered ? this.#key('<', name) : undefined,
    }
  }

  #key(kind: string, name: string): Buffer {
    return Buffer.concat([this.#tag, Buffer.from(kind + name)])
  }
}

/** All keys of a prefix, of whatever namespace. A server has to look at every key it holds. */
export async function* keysOf(server: Redis, prefix: string): AsyncGenerator<Buffer> {
  let cursor = '0'
  do {
    const [next, keys] = await server.scanBuffer(cursor, 'MATCH', `{${prefix}:*}*`, 'COUNT', 1000)
    yield* keys
    cursor = next.toString()
  } while (cursor !== '0')
}

/** A namespace may have braces in its name; no space has. */
export function noteSpace(found: Map<string, Set<string>>, key: Buffer): void {
  const end = key.lastIndexOf('}')
  const kind = key.toString('latin1', end + 1, end + 2)
  if (kind !== '=' && kind !== '+') return
  const namespace = key.toString('utf8', key.indexOf(':') + 1, end)
  const spaces = found.get(namespace) ?? new Set()
  found.set(namespace, spaces.add(key.toString('utf8', end + 2)))
}
