/** A config of another system, as it is: it selects DynamoDB, and fingerprints are kept in its table. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { inProcess as prestige } from '../children/cli.ts'
import { jsonl, linesOf, textMaker } from '../corpus-kit.ts'
import { dynamoIsHere, type DynamoServer, startDynamo } from '../servers/dynamodb.ts'

/** Word for word, as that system documents it. */
const YAML = `global_fingerprints:
  enabled: true
  root_path: "fingerprints_global"   # used for local/S3 prefix
  backend: "dynamodb"                # local | s3 | dynamodb
  storage:                           # for local/s3
    type: s3
    bucket: my-bucket
    prefix: fingerprints
  dynamodb:                          # when backend: dynamodb
    region: us-east-1
    simhash_table: clean-corpus-simhash
    minhash_table: clean-corpus-minhash
    chunk_table:  clean-corpus-chunk
    processed_table: clean-corpus-processed   # optional
`
const LOCATION = 'dynamodb://us-east-1/clean-corpus'
const ENDPOINT = 'AWS_ENDPOINT_URL_DYNAMODB'

describe.skipIf(!dynamoIsHere())('global_fingerprints with backend: dynamodb', () => {
  let server: DynamoServer
  let directory: string
  const before = process.env[ENDPOINT]
  beforeAll(async () => {
    server = await startDynamo()
    directory = mkdtempSync(join(tmpdir(), 'prestige-dynamo-config-'))
    // Where the AWS SDK looks for it, since the config does not say that it is an emulator.
    process.env[ENDPOINT] = `http://127.0.0.1:${server.port}`
  })
  afterAll(async () => {
    if (before === undefined) delete process.env[ENDPOINT]
    else process.env[ENDPOINT] = before
    rmSync(directory, { recursive: true, force: true })
    await server.stop()
  })
  const run = (...args: string[]) => prestige(args, { cwd: directory })

  it('keeps fingerprints and what was processed in the table', async () => {
    const text = textMaker(12)
    const [one, two] = [text(), text()]
    const [day1, day2] = [
      [
        { id: 'a', text: one },
        { id: 'b', text: one.toUpperCase() },
      ],
      [
        { id: 'c', text: `${one} and more` },
        { id: 'd', text: two },
      ],
    ]
    writeFileSync(join(directory, 'corpus.yaml'), YAML)
    for (const [name, docs] of Object.entries({ day1, day2 }))
      writeFileSync(join(directory, `${name}.jsonl`), jsonl(docs))
    const dedupe = (day: string) =>
      run('dedupe', `${day}.jsonl`, '-o', day, '--config', 'corpus.yaml')

    const missing = await dedupe('day1')
    expect(missing.code).toBe(3)
    expect(missing.err).toContain(`prestige dynamodb create-tables '${LOCATION}'`)
    expect((await run('dynamodb', 'create-tables', LOCATION)).text).toContain('clean-corpus-rows')

    const first = await dedupe('day1')
    expect([first.code, first.err]).toEqual([
      0,
      `corpus.yaml: global_fingerprints: the state is ${LOCATION}, with all fingerprints in the table clean-corpus-rows. root_path and storage are for other backends.\n`,
    ])
    expect((await dedupe('day2')).code).toBe(0)
    expect(linesOf(join(directory, 'day2/kept/day2.jsonl')).map(({ id }) => id)).toEqual(['d'])
    expect(linesOf(join(directory, 'day2/duplicates.jsonl'))).toMatchObject([
      { id: 'c', of: { id: 'a', source: 'day1.jsonl' } },
    ])
    const { config } = JSON.parse(readFileSync(join(directory, 'day1/manifest.json'), 'utf8'))
    expect([config.simhash.enabled, config.near.enabled, config.chunks.enabled]).toEqual([
      true,
      true,
      true,
    ])

    expect(await rowsIn('clean-corpus-rows', server.port)).toBeGreaterThan(20)
    const ledger = await run('ledger', 'get', 'c', '--store', LOCATION, '--json')
    expect(ledger.json).toMatchObject({ status: 'duplicate', of: 'a' })
  })
})

async function rowsIn(table: string, port: number): Promise<number> {
  const { DynamoDBClient, ScanCommand } = await import('@aws-sdk/client-dynamodb')
  const client = new DynamoDBClient({ region: 'us-east-1', endpoint: `http://127.0.0.1:${port}` })
  try {
    const found = await client.send(new ScanCommand({ TableName: table, Select: 'COUNT' }))
    return found.Count ?? 0
  } finally {
    client.destroy()
  }
}
