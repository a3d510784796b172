/** The service in a server of Node that has other paths, too. */

import { createServer as createHttp, type Server } from 'node:http'

import { createServer, nodeHandler, type PrestigeServer } from 'prestige-dedup/server'

export function start(location: string): { http: Server; prestige: PrestigeServer } {
  const prestige = createServer(location)
  const handle = nodeHandler(prestige)
  const http = createHttp((request, reply) => {
    if (request.url?.startsWith('/api/v1/')) handle(request, reply)
    else reply.end('another page\n')
  })
  return { http, prestige }
}
