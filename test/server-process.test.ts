/** `prestige serve` as a process, under load: what it acknowledged is there, however it ends. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, beforeEach, expect, it } from 'vitest'

import { createClient } from '../src/client/index.ts'
import { openStore } from '../src/index.ts'
import { makeKey, writeKeys } from '../src/server/index.ts'
import { amount } from './amount.ts'
import { MAIN } from './children/cli.ts'
import { corpus, jsonl } from './corpus-kit.ts'
import { TestUpstream } from './proxy-kit.ts'

let directory: string
let child: ChildProcess | undefined
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-serve-'))
})
afterEach(async () => {
  if (child && child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await rm(directory, { recursive: true, force: true })
})

const store = () => join(directory, 'store')

async function started(...args: string[]): Promise<{ process: ChildProcess; url: string }> {
  const all = [MAIN, 'serve', store(), '--port', '0', '--json', '--quiet', ...args]
  const process_ = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'inherit'] })
  child = process_
  const [line] = await once(process_.stdout, 'data')
  return { process: process_, url: JSON.parse(String(line)).url }
}

interface Load {
  /** Puts that were answered with 201, as they come. */
  readonly acknowledged: Map<string, string>
  readonly codes: Map<string, number>
  stop(): Promise<void>
}

/** Puts short and long values until it is stopped or the server has gone. */
function load(url: string, clients: number): Load {
  const client = createClient(url, { retriesMax: 0 })
  const acknowledged = new Map<string, string>()
  const codes = new Map<string, number>()
  let isStopped = false
  const one = async (name: number) => {
    for (let at = 0; !isStopped; at++) {
      const key = `client ${name} key ${at}`
      const value = `${key} `.repeat(at % 10 === 0 ? 10_000 : 10)
      const code = await client.put(key, value).then(
        () => 'ok',
        (error: unknown) => String(Reflect.get(Object(error), 'code')),
      )
      codes.set(code, (codes.get(code) ?? 0) + 1)
      if (code === 'ok') acknowledged.set(key, value)
      else if (code === 'BACKEND_UNAVAILABLE') return
    }
  }
  const all = Promise.all(Array.from({ length: clients }, (_, name) => one(name)))
  return {
    acknowledged,
    codes,
    stop: async () => {
      isStopped = true
      await all
    },
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(10)
}

async function expectThere(acknowledged: ReadonlyMap<string, string>): Promise<void> {
  await using opened = await openStore(store(), { create: false })
  for (const [key, value] of acknowledged) expect(await opened.getText(key)).toBe(value)
  expect((await opened.verify()).problems).toEqual([])
}

it('SIGTERM under load: what was accepted is finished, and the exit code is 0', async () => {
  const { process: server, url } = await started()
  const clients = load(url, 8)
  await until(() => clients.acknowledged.size > 100)
  const exited = once(server, 'exit')
  server.kill('SIGTERM')
  await clients.stop()
  expect(await exited).toEqual([0, null])
  expect(
    [...clients.codes.keys()].filter((code) => code !== 'ok' && code !== 'BACKEND_UNAVAILABLE'),
  ).toEqual([])
  await expectThere(clients.acknowledged)
})

it('SIGTERM lets an upload end that has begun', async () => {
  const { process: server, url } = await started()
  let isAsked = () => {}
  const asked = new Promise<void>((resolve) => (isAsked = resolve))
  async function* slowly(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(300_000, 'a')
    await sleep(200)
    isAsked()
    await sleep(300)
    yield Buffer.alloc(300_000, 'b')
  }
  const upload = createClient(url).put('slow', slowly())
  await asked
  const exited = once(server, 'exit')
  server.kill('SIGTERM')
  expect((await upload).bytes).toBe(600_000)
  expect(await exited).toEqual([0, null])
})

it('SIGHUP reads the keys again, and keeps those it has where the file is broken', async () => {
  const file = join(directory, 'keys.json')
  const [first, second] = ['first', 'second'].map((name) => makeKey({ name, scope: 'write' }, 0))
  if (!first || !second) throw new Error('two keys were made')
  await writeKeys(file, [first.key])
  const { process: server, url } = await started('--keys', file)
  const may = async (key: string) => {
    const answer = await fetch(`${url}/api/v1/kv/_count`, { headers: { 'x-api-key': key } })
    return answer.status === 200
  }
  expect([await may(first.secret), await may(second.secret)]).toEqual([true, false])
  await writeKeys(file, [second.key])
  server.kill('SIGHUP')
  for (let tries = 0; tries < 500 && !(await may(second.secret)); tries++) await sleep(10)
  expect([await may(first.secret), await may(second.secret)]).toEqual([false, true])
  await writeFile(file, 'broken')
  server.kill('SIGHUP')
  await sleep(100)
  expect(await may(second.secret)).toBe(true)
})

it('kill -9 under load: what was acknowledged is there', async () => {
  const acknowledged = new Map<string, string>()
  for (let round = 0; round < amount(2, 20); round++) {
    const { process: server, url } = await started()
    const clients = load(url, 8)
    await until(() => clients.acknowledged.size > 50 + 50 * round)
    const exited = once(server, 'exit')
    server.kill('SIGKILL')
    await exited
    await clients.stop()
    for (const [key, value] of clients.acknowledged) acknowledged.set(key, value)
    await expectThere(acknowledged)
  }
}, 600_000)

/** Processes that this one has started. */
function childrenOf(pid: number | undefined): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).split('\n')
  return rows
    .map((row) => row.trim().split(/ +/).map(Number))
    .flatMap(([child_ = 0, parent]) => (parent === pid ? [child_] : []))
}

/** The job, at the first event that `isIt`. */
async function followed(url: string, job: string, isIt: (event: string) => boolean) {
  const { body } = await fetch(`${url}/api/v1/jobs/${job}/events`)
  let text = ''
  for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part
    const found = text.split('\n\n').find((block) => isIt(/^event: (.*)$/m.exec(block)?.[1] ?? ''))
    if (found !== undefined && text.endsWith('\n\n'))
      return JSON.parse(/^data: (.*)$/m.exec(found)?.[1] ?? '')
  }
  throw new Error(`No such event: ${text}`)
}

it('a run whose process is killed is a failed job; the server goes on, and the run is resumed', async () => {
  const { process: server, url } = await started('--jobs', join(directory, 'runs'))
  const documents = jsonl(corpus(1500))
  const send = async () => {
    const headers = { 'content-type': 'application/x-ndjson' }
    const answer = await fetch(`${url}/api/v1/runs?run=one`, {
      method: 'POST',
      headers,
      body: documents,
    })
    return String(Object(await answer.json()).job)
  }
  const isEnd = (event: string) => ['done', 'failed', 'stopped'].includes(event)
  const first = await send()
  await followed(url, first, (event) => event === 'progress')
  const [run = 0, ...others] = childrenOf(server.pid)
  expect(others).toEqual([])
  process.kill(run, 'SIGKILL')
  const failed = await followed(url, first, isEnd)
  expect(failed).toMatchObject({ status: 'failed', run: 'one', error: { code: 'WORKER_FAILED' } })
  expect((await fetch(`${url}/health`)).status).toBe(200)
  const resumed = await followed(url, await send(), isEnd)
  expect(resumed).toMatchObject({ status: 'done', result: { summary: { documents: 1500 } } })
  expect(childrenOf(server.pid)).toEqual([])
})

it('serve --proxy-upstream keeps what the upstream allows to be kept', async () => {
  await using upstream = await TestUpstream.start()
  upstream.handler = (_, reply) => reply.setHeader('cache-control', 'max-age=60').end('page')
  const { url } = await started('--proxy-upstream', upstream.url)
  for (const expected of ['MISS', 'HIT']) {
    const got = await fetch(`${url}/proxy/a?b=1`)
    expect([await got.text(), got.headers.get('x-prestige-cache')]).toEqual(['page', expected])
  }
  expect(upstream.asked).toEqual(['GET /a?b=1'])
})
