/** The service in a server of Node that has other paths, too. */

import { createServer as createHttp } from 'node:http'

import { createServer, nodeHandler } from 'prestige-dedup/server'

const prestige = createServer('memory:')
const handle = nodeHandler(prestige)
const http = createHttp((request, reply) => {
  if (request.url.startsWith('/api/v1/')) handle(request, reply)
  else reply.end('another page')
})
await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${http.address().port}`

for (const key of ['a', 'b']) {
  const url = `${origin}/api/v1/kv/${key}`
  const put = await fetch(url, { method: 'PUT', body: 'the same text' })
  console.log(`PUT ${key}: ${put.status}, ${put.headers.get('prestige-content')}`)
}
console.log(`GET b: ${await (await fetch(`${origin}/api/v1/kv/b`)).text()}`)
console.log(`GET /: ${await (await fetch(origin)).text()}`)

await new Promise((resolve) => {
  http.close(resolve)
  http.closeAllConnections()
})
await prestige.close()
