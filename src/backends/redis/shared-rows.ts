/**
 * Rows that never change, in a Redis that may evict them: a cache before an engine whose reads are paid for.
 *
 * Each is kept with a digest of its name, version and bytes, so that nothing is believed that was not put. A Redis
 * that cannot be reached is no reason to fail: the engine is asked instead, and the failures are counted.
 */

import { createHash } from 'node:crypto'

import { asBuffer, equalBytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { SharedRows } from '../kit/cached.ts'
import type { Versioned } from '../kit/optimistic.ts'
import { Connection } from './connection.ts'
import { parseLocation } from './location.ts'

const DIGEST_BYTES = 16
const EXPIRES_S = 24 * 3600

export class RedisRows implements SharedRows {
  readonly #connection: Connection
  readonly #prefix: string
  /** Requests that failed. */
  failures = 0

  private constructor(connection: Connection, prefix: string) {
    this.#connection = connection
    this.#prefix = prefix
  }

  /** `of` distinguishes engines and namespaces that share the cache. */
  static async open(location: string, of: string): Promise<RedisRows> {
    const parsed = parseLocation(location)
    if (parsed.isCluster) {
      throw new PrestigeError(
        'INVALID_LOCATION',
        'A cache is one Redis, not a cluster: rows are asked for many at a time.',
      )
    }
    return new RedisRows(await Connection.open(parsed), `${parsed.prefix}:cache:${of}:`)
  }

  async get(names: readonly string[]): Promise<readonly (Versioned | undefined)[]> {
    try {
      const replies = await this.#connection.send(
        'mget',
        names.map((name) => this.#keyOf(name)),
      )
      const all: readonly unknown[] = Array.isArray(replies) ? replies : []
      return names.map((name, at) => unpacked(name, all[at]))
    } catch {
      this.failures++
      return names.map(() => undefined)
    }
  }

  async set(rows: readonly (readonly [string, Versioned])[]): Promise<void> {
    try {
      await Promise.all(
        rows.map(([name, row]) =>
          this.#connection.send('set', [this.#keyOf(name), packed(name, row), 'EX', EXPIRES_S]),
        ),
      )
    } catch {
      this.failures++
    }
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  #keyOf(name: string): string {
    return this.#prefix + createHash('sha256').update(name, 'latin1').digest('base64url')
  }
}

function packed(name: string, { version, bytes }: Versioned): Buffer {
  const own = Buffer.from(version, 'latin1')
  const rest = Buffer.concat([Buffer.of(own.byteLength), own, bytes])
  return Buffer.concat([digestOf(name, rest), rest])
}

function unpacked(name: string, reply: unknown): Versioned | undefined {
  if (!(reply instanceof Uint8Array) || reply.byteLength <= DIGEST_BYTES) return undefined
  const all = asBuffer(reply)
  const rest = all.subarray(DIGEST_BYTES)
  if (!equalBytes(digestOf(name, rest), all.subarray(0, DIGEST_BYTES))) return undefined
  const length = rest[0] ?? 0
  return { version: rest.toString('latin1', 1, 1 + length), bytes: rest.subarray(1 + length) }
}

function digestOf(name: string, bytes: Buffer): Buffer {
  const hash = createHash('sha256').update(name, 'latin1').update('\0').update(bytes)
  return hash.digest().subarray(0, DIGEST_BYTES)
}
