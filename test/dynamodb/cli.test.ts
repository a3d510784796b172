/** The command line on DynamoDB, and what it says where something is missing. */

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

import { dynamoIsHere, type DynamoServer, startDynamo } from '../servers/dynamodb.ts'

const MAIN = fileURLToPath(new URL('../../dist/command/main.js', import.meta.url))

interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

function prestige(...args: readonly string[]): Promise<Said> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [MAIN, ...args], (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, out, err }),
    )
  })
}

describe.skipIf(!dynamoIsHere())('the command line', () => {
  let server: DynamoServer
  beforeAll(async () => {
    server = await startDynamo()
  })
  afterAll(() => server.stop())

  it('makes a table, keeps values in it, and lists them', async () => {
    const store = server.location()
    const missing = await prestige('put', 'a', 'x', '--store', store)
    expect(missing.code).toBe(3)
    expect(missing.err).toContain(`prestige dynamodb create-tables '${store}'`)
    const made = await prestige('dynamodb', 'create-tables', store, '--shards', '4')
    expect(made).toMatchObject({ code: 0, out: 'created: table test0-rows, 4 shards\n' })
    const again = await prestige('dynamodb', 'create-tables', store, '--json')
    expect(JSON.parse(again.out)).toEqual({ table: 'test0-rows', created: false, shards: 4 })
    expect((await prestige('put', 'b', 'hello', '--store', store)).code).toBe(0)
    const put = await prestige('put', 'ключ', 'hello', '--store', store)
    expect(put.out).toContain('duplicate of "b"')
    expect((await prestige('keys', '--store', store)).out).toBe('b\nключ\n')
    expect((await prestige('verify', '--store', store)).code).toBe(0)
  })

  it('prints a template, and makes nothing', async () => {
    const location = 'dynamodb://eu-central-1/corpus'
    const { code, out } = await prestige('dynamodb', 'create-tables', location, '--dry-run')
    expect(code).toBe(0)
    expect(Object.keys(JSON.parse(out).Resources)).toEqual(['PrestigeRows'])
  })

  it.each([
    [['dynamodb', 'drop']],
    [['dynamodb', 'create-tables']],
    [['dynamodb', 'create-tables', 'x']],
  ])('refuses %j', async (args) => expect((await prestige(...args)).code).toBe(2))
})

it('says which package to install', async () => {
  vi.resetModules()
  vi.doMock('@aws-sdk/client-dynamodb', () => {
    throw new Error('Cannot find package')
  })
  const { openBackend } = await import('../../src/backends/open.ts')
  const opening = openBackend('dynamodb://us-east-1/x', { spaces: [] })
  await expect(opening).rejects.toMatchObject({
    code: 'PACKAGE_MISSING',
    message: expect.stringContaining('npm install @aws-sdk/client-dynamodb'),
  })
  vi.doUnmock('@aws-sdk/client-dynamodb')
})
