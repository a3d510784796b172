import type { TransactWriteItemsCommandInput } from '@aws-sdk/client-dynamodb'
import { beforeEach, describe, expect, it } from 'vitest'

import { key, numbers, sums, words } from '../conformance/kit.ts'
import { cellName } from '../kit/draft.ts'
import type { Commit } from '../kit/optimistic.ts'
import { loadSdk, Requests } from './client.ts'
import { Committer } from './committer.ts'
import { bytesOfVersion, Layout } from './layout.ts'
import { readLocation } from './location.ts'

type Answer = (input: TransactWriteItemsCommandInput) => void | Promise<void>

/** What was sent; each send is answered by the next answer, and the last one answers all later ones. */
class Script {
  readonly sent: TransactWriteItemsCommandInput[] = []
  answers: Answer[] = [() => {}]

  async send(command: unknown): Promise<unknown> {
    const { input } = command as { input: TransactWriteItemsCommandInput }
    const answer = this.answers[Math.min(this.sent.length, this.answers.length - 1)]!
    this.sent.push(input)
    await answer(input)
    return {}
  }

  destroy(): void {}

  tokens(): Set<unknown> {
    return new Set(this.sent.map(({ ClientRequestToken }) => ClientRequestToken))
  }
}

function failing(name: string, more: object = {}): Answer {
  return () => {
    throw Object.assign(new Error(name), { name, ...more })
  }
}

const cut = failing('Error', { code: 'ECONNRESET' })
const cancelled = (...codes: string[]) =>
  failing('TransactionCanceledException', {
    CancellationReasons: codes.map((Code) => ({ Code })),
  })

let versions = 0
function commitOf(parts: Partial<Commit>): Commit {
  const version = String(++versions).padStart(8, '0')
  return { version, checks: [], writes: [], additions: [], ...parts }
}

const write = (name: string, value = 'x') => ({ space: words, key: key(name), bytes: key(value) })
const check = (name: string, version?: string) => ({ space: words, key: key(name), version })
const add = (name: string, delta: number) => ({ space: sums, key: key(name), delta })

describe('a committer', () => {
  let script: Script
  let committer: Committer
  beforeEach(async () => {
    script = new Script()
    const location = readLocation('dynamodb://us-east-1/x')
    const patience = { sleep: async () => {}, random: () => 0.5, sendsMax: 3 }
    const requests = new Requests(await loadSdk(), script, location, patience)
    const layout = new Layout(Buffer.of(0), 16, [words, numbers, sums])
    let tokens = 0
    committer = new Committer({ requests, layout, newToken: () => `token ${++tokens}` })
  })

  const commitAll = (...commits: Commit[]) =>
    Promise.all(commits.map((one) => committer.commit(one)))
  const items = (at = 0) => script.sent[at]?.TransactItems ?? []

  it('sends what has nothing to do with one another together, and tallies once', async () => {
    const commits = Array.from({ length: 10 }, (_, at) =>
      commitOf({
        checks: [check('shared', 'v'.repeat(8)), check(`own ${at}`)],
        writes: [write(`own ${at}`)],
        additions: [add('total', at), add('count', 1)],
      }),
    )
    const ends = await commitAll(...commits)
    expect(ends.every(({ applied }) => applied)).toBe(true)
    expect(script.sent).toHaveLength(1)
    expect(items()).toHaveLength(12)
    const [tally] = items().flatMap(({ Update }) => Update ?? [])
    const added = Object.values(tally?.ExpressionAttributeValues ?? {}).map(({ N }) => N)
    expect(new Set(added)).toEqual(new Set(['10', '45']))
  })

  it('never takes more than a hundred items, nor more bytes than fit', async () => {
    const many = (count: number, bytes: number, family: string) =>
      Array.from({ length: count }, (_, at) =>
        commitOf({ writes: [write(`${family} ${at}`, 'x'.repeat(bytes))] }),
      )
    await commitAll(...many(250, 1, 'small'))
    expect(script.sent.map(({ TransactItems }) => TransactItems?.length)).toEqual([100, 100, 50])
    script.sent.length = 0
    await commitAll(...many(12, 380 * 1024, 'large'))
    expect(script.sent.map(({ TransactItems }) => TransactItems?.length)).toEqual([10, 2])
  })

  it('sends no two together, and none at the same time, that share a row which one writes', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    script.answers = [() => held, () => {}]
    const first = commitOf({ writes: [write('a', 'new')] })
    const blind = commitOf({ writes: [write('a', 'later')] })
    const outdated = commitOf({ checks: [check('a')], writes: [write('b')] })
    const free = commitOf({ writes: [write('c')] })
    const ends = commitAll(first, blind, outdated)
    while (script.sent.length === 0) await new Promise((resolve) => void setImmediate(resolve))
    await committer.commit(free)
    expect(script.sent.map(({ TransactItems }) => TransactItems?.length)).toEqual([1, 1])
    release()
    const [, , refused] = await ends
    expect(script.sent).toHaveLength(3)
    const fresh = { bytes: Buffer.from('new'), version: first.version }
    expect(refused).toEqual({
      applied: false,
      fresh: new Map([[cellName(words, key('a')), fresh]]),
    })
  })

  it('refuses one whose condition fails, with what is there, and sends the others again', async () => {
    const Item = { n: { B: bytesOfVersion('other version') }, v: { B: key('theirs') } }
    const CancellationReasons = [{ Code: 'ConditionalCheckFailed', Item }, { Code: 'None' }]
    script.answers = [failing('TransactionCanceledException', { CancellationReasons }), () => {}]
    const lost = commitOf({ checks: [check('a')], writes: [write('a')] })
    const fine = commitOf({ writes: [write('b')] })
    const ends = await commitAll(lost, fine)
    const fresh = { bytes: key('theirs'), version: 'other version' }
    expect(ends).toEqual([
      { applied: false, fresh: new Map([[cellName(words, key('a')), fresh]]) },
      { applied: true },
    ])
    expect(items(1)).toHaveLength(1)
    expect(script.tokens().size).toBe(2)
  })

  it('sends again, apart, what another transaction was in the way of', async () => {
    script.answers = [cancelled('TransactionConflict', 'None'), () => {}]
    const ends = await commitAll(
      commitOf({ writes: [write('a')] }),
      commitOf({ writes: [write('b')] }),
    )
    expect(ends).toEqual([{ applied: true }, { applied: true }])
    expect(script.tokens().size).toBe(script.sent.length)
  })

  it('keeps a group of which a send may yet be performed as it is', async () => {
    script.answers = [cut, cancelled('TransactionConflict', 'None'), () => {}]
    await commitAll(commitOf({ writes: [write('a')] }), commitOf({ writes: [write('b')] }))
    expect(script.sent).toHaveLength(3)
    expect(script.tokens().size).toBe(1)
    expect(new Set(script.sent.map((input) => JSON.stringify(input))).size).toBe(1)
  })

  it('knows what became of a group, whichever of its members asks again, and when', async () => {
    script.answers = [cut, cut, cut, () => {}]
    const [one, other] = [
      commitOf({ additions: [add('t', 1)] }),
      commitOf({ writes: [write('b')] }),
    ]
    const ends = await Promise.allSettled([committer.commit(one), committer.commit(other)])
    for (const end of ends) {
      expect(end).toMatchObject({ reason: { code: 'BACKEND_UNAVAILABLE', retryable: true } })
    }
    expect(await committer.commit(one)).toEqual({ applied: true })
    expect(await committer.commit(other)).toEqual({ applied: true })
    expect(script.sent).toHaveLength(4)
    expect(script.tokens().size).toBe(1)
  })

  it('finds the guilty one of a group that is refused for its form', async () => {
    const isGuilty = (input: TransactWriteItemsCommandInput) =>
      JSON.stringify(input.TransactItems).includes(JSON.stringify(key('guilty')).slice(1, -1))
    script.answers = [
      (input) => (isGuilty(input) ? failing('ValidationException')(input) : undefined),
    ]
    const commits = ['a', 'guilty', 'c'].map((value) => commitOf({ writes: [write(value, value)] }))
    const ends = await Promise.allSettled(commits.map((one) => committer.commit(one)))
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(ends[1]).toMatchObject({ reason: { code: 'BODY_MISUSE' } })
  })

  it('sends nothing for what adds up to nothing', async () => {
    await committer.commit(commitOf({ additions: [add('t', 1), add('t', -1)] }))
    expect(script.sent).toHaveLength(0)
  })

  describe('that finds gone what it removes, after a send that was cut off', () => {
    const removal = () =>
      commitOf({
        checks: [check('a', 'v'.repeat(8))],
        writes: [{ space: words, key: key('a'), bytes: undefined }],
      })

    it('asks once more, and learns that it was its own send', async () => {
      script.answers = [cut, cancelled('ConditionalCheckFailed'), () => {}]
      expect(await committer.commit(removal())).toEqual({ applied: true })
      expect(script.sent).toHaveLength(3)
      expect(script.tokens().size).toBe(1)
    })

    it('asks once more, and learns that it was another', async () => {
      script.answers = [cut, cancelled('ConditionalCheckFailed')]
      expect(await committer.commit(removal())).toMatchObject({ applied: false })
      expect(script.sent).toHaveLength(3)
    })

    it('asks nothing where no send was cut off', async () => {
      script.answers = [cancelled('ConditionalCheckFailed')]
      expect(await committer.commit(removal())).toMatchObject({ applied: false })
      expect(script.sent).toHaveLength(1)
    })
  })
})
