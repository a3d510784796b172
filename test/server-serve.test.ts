/** `prestige serve DIR` as a process: the runs of a directory, live over a socket, and after a crash. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, it } from 'vitest'

import { MAIN, prestige } from './children/cli.ts'
import { corpus, jsonl, writeFiles } from './corpus-kit.ts'

let directory: string
const children: ChildProcess[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-serve-'))
})
afterEach(async () => {
  for (const child of children.splice(0)) await killed(child, 'SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

async function killed(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

/** A server of the directory, and its address. */
async function serve(...args: string[]): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [MAIN, 'serve', ...args, '--port', '0', '--json'], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: '1' },
  })
  children.push(child)
  const [line] = await once(child.stdout, 'data')
  return { child, url: JSON.parse(String(line)).url }
}

async function call(url: string, init: RequestInit = {}) {
  const response = await fetch(url, init)
  return { status: response.status, body: JSON.parse(await response.text()) }
}

function upload(url: string, lines: string, query = '') {
  const headers = { 'content-type': 'application/x-ndjson' }
  return call(`${url}/api/v1/runs${query}`, { method: 'POST', body: lines, headers })
}

it('shows the runs of dedupe -o DIR, and adds to them', { timeout: 60_000 }, async () => {
  writeFiles(directory, { 'a.jsonl': jsonl(corpus(20)) })
  const made = await prestige(['dedupe', 'a.jsonl', '-o', 'out', '--run', 'one', '--quiet'], {
    cwd: directory,
  })
  expect(made.code).toBe(0)
  const { child, url } = await serve('out', '--log-format', 'none')
  expect((await call(`${url}/api/v1/runs`)).body.runs).toMatchObject([
    { id: 'one', status: 'finished', documents: { in: 20 } },
  ])
  expect((await call(`${url}/health/ready`)).body).toEqual({ status: 'ready' })
  const { body } = await upload(url, jsonl(corpus(12, 5)), '?run=two')
  const events = await (await fetch(`${url}/api/v1/jobs/${body.job}/events`)).text()
  expect(events).toContain('event: done')
  await killed(child, 'SIGTERM')
  expect(child.exitCode).toBe(0)
  // A server makes no store that nobody has asked for.
  expect(existsSync(join(directory, 'out/data.mdb'))).toBe(false)
  const runs = await prestige(['runs', '--state', 'out/state', '--json'], { cwd: directory })
  expect(JSON.parse(String(runs.out))).toMatchObject([
    { id: 'one' },
    { id: 'two', status: 'finished' },
  ])
})

it('goes on after a crash when the same is sent again', { timeout: 60_000 }, async () => {
  const lines = jsonl(corpus(3000))
  const first = await serve('store', '--jobs', 'out', '--log-format', 'none')
  const { body } = await upload(first.url, lines, '?run=one')
  const reader = (await fetch(`${first.url}/api/v1/jobs/${body.job}/events`))
    .body!.pipeThrough(new TextDecoderStream())
    .getReader()
  for (;;) {
    const { value = '' } = await reader.read()
    if (value.includes('event: progress')) break
  }
  await killed(first.child, 'SIGKILL')
  await reader.cancel().catch(() => undefined)

  const second = await serve('store', '--jobs', 'out', '--log-format', 'none')
  expect((await call(`${second.url}/api/v1/runs`)).body).toMatchObject({
    runs: [{ id: 'one', status: 'deciding' }],
    jobs: [],
  })
  // Others would meet a run that was cut off, and say so.
  const other = await upload(second.url, jsonl(corpus(5, 2)))
  await (await fetch(`${second.url}/api/v1/jobs/${other.body.job}/events`)).text()
  expect((await call(`${second.url}/api/v1/jobs/${other.body.job}`)).body).toMatchObject({
    status: 'failed',
    error: {
      code: 'SETTINGS_MISMATCH',
      message: expect.stringContaining(`POST /api/v1/runs {"upload":"${body.upload}"}`),
    },
  })
  const again = await upload(second.url, lines)
  expect(again.body.upload).toBe(body.upload)
  await (await fetch(`${second.url}/api/v1/jobs/${again.body.job}/events`)).text()
  expect((await call(`${second.url}/api/v1/jobs/${again.body.job}`)).body).toMatchObject({
    status: 'done',
    run: 'one',
    result: { summary: { documents: 3000 } },
  })
  expect(readdirSync(join(directory, 'out/uploads'))).toEqual([`${body.upload}.jsonl`])
})
