/** No password of a location reaches anything that the command line prints, writes into files, or stores. */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { commands } from '../src/cli/declarations/index.ts'
import { inProcess as prestige, type Run, type RunOptions } from './children/cli.ts'
import { corpus, jsonl, writeFiles } from './corpus-kit.ts'
import { redisClient, redisIsHere, type RedisServer, startRedis } from './servers/redis.ts'

const PASSWORD = 'S3cret/"pw" %@?x'
const ENCODED = encodeURIComponent(PASSWORD)
/** As it is, percent-encoded once and twice, in JSON, and the parts a wrong parser would make of it. */
const FORMS = [PASSWORD, ENCODED, encodeURIComponent(ENCODED), 'S3cret', '%@?x']
const PARALLEL = 3

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-secrets-'))
  const documents = jsonl(corpus(10))
  writeFiles(join(directory, 'in'), { 'a.jsonl': documents, 'b.jsonl': documents })
  writeFiles(directory, { 'pairs.jsonl': '', 'bad.yaml': `near: redis://:${ENCODED}@h\n` })
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)

function expectNone(where: string, text: string): void {
  for (const form of FORMS) {
    if (text.includes(form)) expect.fail(`${where} shows ${form}:\n${text}`)
  }
}

/** One call as it is and one with --json. */
async function callBoth(args: readonly string[], options: RunOptions = {}): Promise<Run[]> {
  return Promise.all([prestige(args, options), prestige([...args, '--json'], options)])
}

function check(args: readonly string[], runs: readonly Run[]): void {
  for (const { text, err } of runs) expectNone(args.join(' '), `${text}\n${err}`)
}

async function inTurns<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = [...all]
  const turn = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one)
  }
  await Promise.all(Array.from({ length: PARALLEL }, turn))
}

/** Every command at a location, wherever it takes one. */
function everyCommand(location: string): string[][] {
  const operands: Record<string, string[]> = {
    put: ['a', 'b'],
    explain: ['a'],
    similar: ['a'],
    import: [at('in')],
    export: [at('exported')],
    backup: [at('backups')],
    tune: [at('pairs.jsonl')],
    resolve: [at('in', 'a.jsonl')],
    members: ['a'],
    dedupe: [at('in'), '-o', at('refused'), '--state', location],
    undo: ['run', '--state', location],
    report: ['--state', location],
    runs: ['--state', location],
    config: ['check', location],
    ledger: ['stats'],
    dynamodb: ['create-tables', location],
    // Refused before it listens, as there are no keys.
    serve: [location, '--host', '0.0.0.0'],
    mcp: [location],
  }
  return Object.keys(commands).map((name) => [name].concat(operands[name] ?? ['a']))
}

const UNUSABLE = [
  `redis://:${ENCODED}@127.0.0.1:1/0?timeoutMs=100`,
  `redis://:${PASSWORD}@127.0.0.1:1/0`,
  `redis://127.0.0.1:1?password=${ENCODED}`,
  `reids://:${PASSWORD}@127.0.0.1`,
  `dynamodb://u:${ENCODED}@eu-west-1/x`,
]

describe('a location that cannot be used', () => {
  it('is not shown with its password by any command', async () => {
    // Not every command with every location: each command fails at two of them, each location in many commands.
    const nth = (number: number) => UNUSABLE[number % UNUSABLE.length] ?? ''
    const calls = Object.keys(commands).flatMap((_, number) =>
      [nth(number), nth(number + 1)].map((location, isJson) => {
        const args = everyCommand(location)[number] ?? []
        return { location, args: isJson ? [...args, '--json'] : args }
      }),
    )
    await inTurns(calls, async ({ location, args }) =>
      check(args, [await prestige(args, { store: location })]),
    )
  })

  it.each(UNUSABLE)('%s is named without its password', async (location) => {
    const runs = await callBoth(['count'], { store: location })
    check(['count'], runs)
    for (const { code, err } of runs)
      expect([code === 0, err]).toEqual([false, expect.stringContaining('***')])
  })

  it('is not shown with its password wherever else it was typed', async () => {
    const [location = ''] = UNUSABLE
    const calls = [
      [location],
      ['help', location],
      ['count', location],
      ['count', '--store', location],
      ['count', `--store=${location}`, '--limit', location],
      ['count', `--${location}`],
      ['count', '--durability', location],
      ['dedupe', location, '-o', at('refused')],
      ['dedupe', at('in'), '-o', location],
      ['dedupe', at('in'), '-o', at('refused'), '--against', location],
      ['dedupe', at('in'), '-o', at('refused'), '--config', location],
      ['dedupe', at('in'), '-o', at('refused'), '--threshold', location],
      ['config', 'check', at('bad.yaml')],
      ['config', location],
      ['import', location],
      ['put', 'a', '--file', location],
      ['report', '--state', at('refused'), '--html', location],
      ['dynamodb', 'create-tables', `dynamodb://eu-west-1/x?cache=${location}`],
    ]
    await inTurns(calls, async (args) => check(args, await callBoth(args, { store: location })))
  })

  it('is said to be wrong where ? and @ of a password are not encoded', async () => {
    const { code, err } = await prestige(['count'], { store: 'redis://:a?b@127.0.0.1' })
    expect([code, err]).toEqual([2, expect.stringContaining('"redis://***@127.0.0.1"')])
    expect(err).toContain('%3F')
  })
})

describe('results', () => {
  it('keep URLs that are keys as they are', async () => {
    const store = at('urls')
    const key = 'https://user:pw@example.org/?token=1'
    const put = await prestige(['put', key, 'value', '--json'], { store })
    expect(put.code).toBe(0)
    expect((await prestige(['keys'], { store })).text).toBe(`${key}\n`)
    expect((await prestige(['keys', '--json'], { store })).json).toEqual({ key })
    expect((await prestige(['explain', key], { store })).text).toContain(key)
  })

  it('are not written to a directory that is named like a location', async () => {
    const { code, err } = await prestige(['dedupe', at('in'), '-o', 'redis://h/0'])
    expect([code, err]).toEqual([2, expect.stringContaining('--state')])
  })
})

describe.runIf(redisIsHere())('a location that is used', () => {
  let server: RedisServer
  let location: string
  beforeAll(async () => {
    server = await startRedis({ args: ['--requirepass', PASSWORD, '--rdbcompression', 'no'] })
    location = server.url.replace('//', `//:${ENCODED}@`)
  })
  afterAll(() => server?.stop())

  it('is shown without its password by every command, in every file and in the state', async () => {
    const dedupe = await callBoth(['dedupe', at('in'), '-o', at('out'), '--state', location])
    check(['dedupe'], dedupe)
    const done = dedupe.find(({ text }) => text.includes('undo'))
    expect(done?.text).toContain(`--state redis://:***@127.0.0.1:${server.port}/0`)
    expect(done?.text).toContain('password in place of ***')
    await inTurns([...everyCommand(location).entries()], async ([number, args]) => {
      const all = number % 2 === 0 ? args : [...args, '--json']
      check(all, [await prestige(all, { store: location })])
    })
    expect((await prestige(['count'], { store: location })).code).toBe(0)
    const page = await prestige(['report', '--state', location, '--html', at('out', 'page.html')])
    expect([page.code, page.err]).toEqual([0, ''])
    filesOf(directory).forEach((file) => {
      if (!file.endsWith('bad.yaml')) expectNone(file, readFileSync(file, 'latin1'))
    })
    const client = redisClient(server.port, PASSWORD)
    await client.save()
    client.disconnect()
    expectNone('the state', readFileSync(join(server.directory, 'dump.rdb'), 'latin1'))
  })
})

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
}
