/** The web console: a page, a script and a style sheet, which anybody may load. What they show needs a key as always. */

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { HttpProblem } from '../http/problem.ts'
import { type AnyRoute, type Call, route } from '../http/route.ts'

/** Where the build puts them, seen from the sources and from what is built of them alike. */
const FILES = new URL('../../../dist/console/', import.meta.url)
const PAGE = 'index.html'
const TYPES: ReadonlyMap<string, string> = new Map([
  [PAGE, 'text/html; charset=utf-8'],
  ['console.js', 'text/javascript; charset=utf-8'],
  ['console.css', 'text/css; charset=utf-8'],
  ['icon.svg', 'image/svg+xml'],
])

/** Only this server's script and style run, and the page talks to this server alone. Images of values are blobs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

interface StaticFile {
  readonly bytes: Buffer
  readonly etag: string
}

const files = new Map<string, Promise<StaticFile>>()

export const consoleRoutes: AnyRoute[] = [
  page('console', '/'),
  page('consolePage', '/console'),
  page('consolePageInFolder', '/console/'),
  route({
    name: 'consoleFile',
    method: 'GET',
    path: '/console/{file}',
    summary: 'A file of the web console',
    tag: 'console',
    scope: 'public',
    replies: {
      200: { description: 'The file', contentType: '*/*' },
      304: { description: 'The file is the one that the client has' },
      404: { description: 'The console has no such file' },
    },
    handle: (call) => fileReply(call, call.path['file']?.toString() ?? ''),
  }),
]

function page(name: string, path: string): AnyRoute {
  return route({
    name,
    method: 'GET',
    path,
    summary: 'The web console',
    tag: 'console',
    scope: 'public',
    replies: {
      200: { description: 'The page', contentType: 'text/html' },
      304: { description: 'The page is the one that the client has' },
    },
    handle: (call) => fileReply(call, PAGE),
  })
}

async function fileReply({ request }: Call, name: string): Promise<Response> {
  const contentType = TYPES.get(name)
  if (contentType === undefined)
    throw new HttpProblem('ROUTE_NOT_FOUND', 'The console has no such file.')
  const { bytes, etag } = await fileNamed(name)
  const headers = {
    'content-type': contentType,
    'content-security-policy': POLICY,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-cache',
    etag,
  }
  if (request.headers.get('if-none-match') === etag)
    return new Response(undefined, { status: 304, headers })
  return new Response(bytes, {
    headers: { ...headers, 'content-length': String(bytes.byteLength) },
  })
}

/** Read once; what cannot be read is tried again at the next request. */
function fileNamed(name: string): Promise<StaticFile> {
  const known = files.get(name)
  if (known) return known
  const reading = readFile(new URL(name, FILES)).then((bytes) => ({
    bytes,
    etag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`,
  }))
  files.set(name, reading)
  reading.catch(() => files.delete(name))
  return reading
}
