/** `prestige mcp`, started and driven by the client of the protocol's own SDK. */

import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { openStore } from '../src/index.ts'
import { inProcess as prestige } from './children/cli.ts'

const MAIN = fileURLToPath(new URL('../dist/command/main.js', import.meta.url))
const TEXT =
  'The quick brown fox jumps over the lazy dog near the bank of the river every single morning.'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-mcp-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** Calls of one server process; `call` gives what the reply says, or the failure. */
async function withServer<T>(
  args: readonly string[],
  use: (client: Client, call: (name: string, given?: object) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const client = new Client({ name: 'test', version: '1' })
  const command = { command: process.execPath, args: [MAIN, 'mcp', ...args], stderr: 'inherit' }
  await client.connect(new StdioClientTransport({ ...command, stderr: 'inherit' }))
  const call = async (name: string, given: object = {}) => {
    const { content } = await client.callTool({ name, arguments: { ...given } })
    const [first] = content as [{ text: string }]
    return JSON.parse(first.text)
  }
  try {
    return await use(client, call)
  } finally {
    await client.close()
  }
}

const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}

/** What a server says whose input has these messages and ends. */
async function piped(
  args: readonly string[],
  messages: readonly object[],
): Promise<{ readonly out: string; readonly errors: string }> {
  const child = spawn(process.execPath, [MAIN, 'mcp', ...args])
  const lines = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  child.stdin.end(lines.join(''))
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { out, errors }
}

describe('prestige mcp', () => {
  it('puts, gets, explains, compares and resolves where it may write', async () => {
    const location = join(directory, 'written')
    await withServer([location, '--dedup', 'near', '--write'], async (client, call) => {
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toEqual([
        'put',
        'get',
        'similar',
        'why',
        'resolve',
        'compare',
      ])
      expect(tools[0]?.inputSchema).toMatchObject({ required: ['key', 'value'] })
      expect(tools[0]?.annotations?.readOnlyHint).toBe(false)
      expect(await call('put', { key: 'a', value: TEXT })).toMatchObject({ content: 'new' })
      expect(await call('put', { key: 'b', value: TEXT })).toMatchObject({
        content: 'duplicate',
        of: { firstKey: 'a' },
      })
      expect(await call('get', { key: 'b' })).toMatchObject({ value: TEXT, bytes: TEXT.length })
      expect(await call('similar', { text: `${TEXT} Again.`, limit: 1 })).toMatchObject([
        { firstKey: 'a' },
      ])
      expect(await call('why', { key: 'b' })).toMatchObject({ method: 'digest' })
      expect(await call('compare', { a: TEXT, b: TEXT })).toMatchObject({ isDuplicate: true })
      expect(await call('resolve', { text: TEXT })).toMatchObject({ status: 'new' })
      expect(await call('resolve', { text: TEXT })).toMatchObject({ status: 'exact' })
    })
    await using store = await openStore(location, { create: false })
    expect(await store.stats()).toMatchObject({ keys: 2, contents: 1 })
  })

  it('explains texts: by the store, and with a group by the resolver', async () => {
    const location = join(directory, 'texts')
    await withServer([location, '--dedup', 'near', '--write'], async (_, call) => {
      await call('put', { key: 'a', value: TEXT })
      const { id } = Object(await call('resolve', { text: TEXT, group: 'g' }))
      const longer = `${TEXT} Again.`
      expect(await call('why', { text: longer })).toMatchObject({ nearest: [{ firstKey: 'a' }] })
      expect(await call('why', { text: longer, group: 'g' })).toMatchObject({
        id,
        status: 'match',
        representative: { id },
        explanation: { similarity: expect.any(Number) },
      })
      const other = { text: 'Nothing of the kind was ever said before.', group: 'g' }
      expect(await call('why', other)).toEqual({ status: 'unknown' })
      for (const wrong of [{}, { key: 'a', text: TEXT }, { key: 'a', group: 'g' }]) {
        expect(await call('why', wrong)).toMatchObject({ code: 'INVALID_OPTIONS' })
      }
    })
  })

  it('explains documents of a corpus run', async () => {
    const [input, out] = [join(directory, 'in.jsonl'), join(directory, 'out')]
    const lines = ['one', 'two'].map((id) => JSON.stringify({ id, text: TEXT }))
    await writeFile(input, `${lines.join('\n')}\n`)
    expect((await prestige(['dedupe', input, '-o', out])).code).toBe(0)
    await withServer([out], async (_, call) => {
      expect(await call('why', { document: 'two' })).toMatchObject([
        { id: 'two', status: 'dropped', method: 'exact', against: { id: 'one' } },
      ])
      expect(await call('why', { document: 'three' })).toMatchObject({ code: 'KEY_NOT_FOUND' })
    })
  })

  it('changes nothing without --write, and says how to allow it', async () => {
    const location = join(directory, 'read')
    const long = 'ä'.repeat(200_000)
    await using store = await openStore(location)
    await store.put('text', TEXT)
    await store.put('bytes', Uint8Array.of(255, 0))
    await store.put('long', `x${long}`)
    await withServer([location], async (client, call) => {
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).not.toContain('put')
      expect(await call('put', { key: 'k', value: 'v' })).toMatchObject({
        code: 'INVALID_USAGE',
        message: expect.stringContaining('--write'),
      })
      expect(await call('get', { key: 'bytes' })).toMatchObject({ base64: '/wA=', bytes: 2 })
      const cut: unknown = await call('get', { key: 'long' })
      expect(cut).toMatchObject({ isCut: true, bytes: 400_001 })
      expect(cut).toHaveProperty('value', `x${long.slice(0, 131_071)}`)
      expect(await call('get', { key: 'none' })).toMatchObject({ code: 'KEY_NOT_FOUND' })
      expect(await call('why', { kye: 'k' })).toEqual({
        code: 'INVALID_OPTIONS',
        message: 'The arguments cannot be used. kye is not known here. Did you mean key?',
      })
      expect(await call('get', { key: 'text' })).toMatchObject({ value: TEXT })
    })
    expect(await store.has('k')).toBe(false)
  })

  it('reports a location where nothing is with each call, and looks again at the next', async () => {
    const location = join(directory, 'missing')
    await withServer([location], async (_, call) => {
      expect(await call('get', { key: 'a' })).toMatchObject({ code: 'STORE_NOT_FOUND' })
      expect(await call('resolve', { text: TEXT })).toHaveProperty('code')
      await (await openStore(location)).close()
      expect(await call('get', { key: 'a' })).toMatchObject({ code: 'KEY_NOT_FOUND' })
    })
  })

  it('answers every call that it has read before it ends with its input', async () => {
    const location = join(directory, 'piped')
    const lines = [
      { id: 1, method: 'initialize', params: INITIALIZE },
      { method: 'notifications/initialized' },
      ...[2, 3].map((id) => ({
        id,
        method: 'tools/call',
        params: { name: 'put', arguments: { key: `k${id}`, value: TEXT } },
      })),
    ]
    const { out } = await piped([location, '--write'], lines)
    const answers = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([1, 2, 3]))
    await using store = await openStore(location, { create: false })
    expect(await store.stats()).toMatchObject({ keys: 2 })
  })

  it('warns at the start where nothing is stored, unless it will make the store', async () => {
    const location = join(directory, 'nowhere')
    const { errors } = await piped([location], [])
    expect(errors).toContain(`nothing is stored at ${location}`)
    expect(errors).toContain('--write')
    expect((await piped([location, '--write'], [])).errors).toBe('')
  })
})
