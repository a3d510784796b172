/** What tests of corpus runs over HTTP share: a server over a directory of its own, and calls of it. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createServer, type PrestigeServer, type ServerOptions } from '../src/server/index.ts'

export interface Call {
  readonly method?: string
  readonly body?: unknown
  /** Sent as it is, as documents. */
  readonly lines?: string
  readonly headers?: Readonly<Record<string, string>>
}

export class RunServer {
  readonly directory = mkdtempSync(join(tmpdir(), 'prestige-server-runs-'))
  readonly out = join(this.directory, 'out')
  server: PrestigeServer

  constructor(options: ServerOptions = {}) {
    this.server = this.open(options)
  }

  open(options: ServerOptions = {}): PrestigeServer {
    return createServer(join(this.directory, 'store'), {
      jobs: this.out,
      roots: [join(this.directory, 'corpus')],
      ...options,
    })
  }

  fetch(path: string, { method = 'GET', body, lines, headers = {} }: Call = {}): Promise<Response> {
    const type = lines === undefined ? 'application/json' : 'application/x-ndjson'
    const sent = lines ?? (body === undefined ? undefined : JSON.stringify(body))
    return this.server.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: { ...(sent !== undefined && { 'content-type': type }), ...headers },
        ...(sent !== undefined && { body: sent }),
      }),
    )
  }

  async call(path: string, call?: Call) {
    const response = await this.fetch(path, call)
    return { status: response.status, body: JSON.parse(await response.text()) }
  }

  post(path: string, body?: unknown) {
    return this.call(path, { method: 'POST', body })
  }

  upload(lines: string, query = '') {
    return this.call(`/api/v1/runs${query}`, { method: 'POST', lines })
  }

  /** The job when it has ended. */
  async ended(job: string) {
    await this.events(job)
    return (await this.call(`/api/v1/jobs/${job}`)).body
  }

  /** All events of a job, as they come. */
  async events(job: string, headers = {}) {
    const response = await this.fetch(`/api/v1/jobs/${job}/events`, { headers })
    const blocks = (await response.text()).split('\n\n')
    return blocks.flatMap((block) => {
      const {
        event = '',
        id = '',
        data = '',
      } = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)))
      return event === '' ? [] : [{ event: String(event), id: String(id), data: JSON.parse(data) }]
    })
  }

  async run(lines: string, query = '') {
    return this.ended((await this.upload(lines, query)).body.job)
  }

  async close(): Promise<void> {
    await this.server.close()
    rmSync(this.directory, { recursive: true, force: true })
  }
}
