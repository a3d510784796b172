/** The service in Fastify: `fastify.register(prestigePlugin('./store'))`. */

import type { IncomingMessage, ServerResponse } from 'node:http'

import { createServer, nodeHandler } from 'prestige-dedup/server'

/** The part of Fastify that is used here. */
interface Fastify {
  removeAllContentTypeParsers(): void
  addContentTypeParser(
    type: string,
    parser: (request: object, body: object, done: (error: null) => void) => void,
  ): void
  all(
    path: string,
    handler: (
      request: { raw: IncomingMessage },
      reply: { raw: ServerResponse; hijack(): void },
    ) => void,
  ): void
  addHook(name: 'onClose', hook: () => Promise<void>): void
}

export function prestigePlugin(location: string): (fastify: Fastify) => Promise<void> {
  const prestige = createServer(location)
  const handle = nodeHandler(prestige)
  return async (fastify) => {
    // Bodies are left to the service, which reads them as they come.
    fastify.removeAllContentTypeParsers()
    fastify.addContentTypeParser('*', (_request, _body, done) => done(null))
    fastify.all('/api/v1/*', (request, reply) => {
      reply.hijack()
      handle(request.raw, reply.raw)
    })
    fastify.addHook('onClose', () => prestige.close())
  }
}
