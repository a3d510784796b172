import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import type { Redis } from 'ioredis'

import {
  redisClient,
  redisIsHere,
  type RedisServer,
  startRedis,
} from '../../../test/servers/redis.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { key, suiteSpaces, sums, words } from '../conformance/kit.ts'
import type { Commit } from '../kit/optimistic.ts'
import { Commits, type SendCommits } from './commits.ts'
import { Keys } from './keys.ts'
import { commitScript } from './scripts.ts'

let server: RedisServer
let client: Redis
const keys = new Keys('commits', { spaces: suiteSpaces })
const session = keys.session('one')

const total = () => client.hget('{commits:}+suite-sums', 'total')

function adds(version: string, more: Partial<Commit> = {}): Commit {
  const additions = [{ space: sums, key: key('total'), delta: 1 }]
  return { version, checks: [], writes: [], additions, ...more }
}

describe.runIf(redisIsHere())('commits of one turn', () => {
  beforeAll(async () => {
    server = await startRedis()
    client = redisClient(server.port)
  }, 60_000)
  afterAll(async () => {
    client?.disconnect()
    await server?.stop()
  })

  const really: SendCommits = (all, args) =>
    client.callBuffer('EVAL', commitScript.source, all.length, ...all, ...args)

  it('are not applied when a first sending arrives long after it was sent again', async () => {
    const late: Parameters<SendCommits>[] = []
    let isLost = true
    const commits = new Commits(keys, session, async (...request) => {
      if (!isLost) return really(...request)
      late.push(request)
      throw new PrestigeError('BACKEND_UNAVAILABLE', 'The line broke.')
    })
    const first = adds('version1')
    await expect(commits.commit(first)).rejects.toThrow('The line broke')
    isLost = false
    expect(await commits.commit(first)).toEqual({ applied: true })
    // Others are heard of, and said to be, meanwhile.
    for (const version of ['version2', 'version3', 'version4']) await commits.commit(adds(version))
    expect(await total()).toBe('4')
    expect(await really(...late[0]!)).toEqual([1])
    expect(await total()).toBe('4')
  })

  it('go in one request, and each has its own end', async () => {
    await client.flushall()
    let requests = 0
    const commits = new Commits(keys, session, (...request) => {
      requests++
      return really(...request)
    })
    const write = { space: words, key: key('a'), bytes: key('A') }
    const isEmpty = { space: words, key: key('a'), version: undefined }
    const ends = await Promise.all([
      commits.commit(adds('versionA', { checks: [isEmpty], writes: [write] })),
      commits.commit(adds('versionB', { checks: [isEmpty], writes: [write] })),
      commits.commit(adds('versionC')),
    ])
    expect(requests).toBe(1)
    expect(ends.map(({ applied }) => applied)).toEqual([true, false, true])
    const [, refused] = ends
    const fresh = refused.applied ? [] : [...refused.fresh]
    expect(fresh).toEqual([['suite-words/a', { bytes: key('A'), version: 'versionA' }]])
    expect(await total()).toBe('2')
  })

  it('are spared by one that cannot be encoded or is refused for good', async () => {
    await client.flushall()
    let requests = 0
    const commits = new Commits(keys, session, async (...request) => {
      requests++
      const isBad = request[1].some((arg) => arg instanceof Buffer && arg.equals(key('bad')))
      if (isBad) throw new PrestigeError('SERVER_UNFIT', 'Refused for good.')
      return really(...request)
    })
    const bad = adds('versionX', { writes: [{ space: words, key: key('bad'), bytes: key('') }] })
    const ends = await Promise.allSettled([
      commits.commit(adds('versionY')),
      commits.commit(bad),
      commits.commit(adds('versionZ')),
    ])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(requests).toBe(4)
    expect(await total()).toBe('2')
  })

  it('add sums that no double of Lua could hold', async () => {
    await client.flushall()
    const commits = new Commits(keys, session, really)
    const deltas = [2 ** 53 - 1, 2 ** 53 - 1, 3, -5, 2 ** 52, 1e14 + 1]
    await Promise.all(
      deltas.map((delta, at) =>
        commits.commit(
          adds(`versio${10 + at}`, { additions: [{ space: sums, key: key('total'), delta }] }),
        ),
      ),
    )
    const exact = deltas.reduce((sum, delta) => sum + BigInt(delta), 0n)
    expect(await total()).toBe(String(exact))
  })
})
