/** The service in Express: `app.use(prestigeFor('./store'))`, before anything that reads bodies. */

import type { IncomingMessage, ServerResponse } from 'node:http'

import { createServer, nodeHandler } from 'prestige-dedup/server'

type Middleware = (request: IncomingMessage, reply: ServerResponse, next: () => void) => void

export function prestigeFor(location: string): Middleware {
  const handle = nodeHandler(createServer(location))
  return (request, reply, next) => {
    if (request.url?.startsWith('/api/v1/')) handle(request, reply)
    else next()
  }
}
