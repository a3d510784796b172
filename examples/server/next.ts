/** The service in Next.js: the content of `app/api/v1/[...path]/route.ts`. */

import { createServer } from 'prestige-dedup/server'

const prestige = createServer(process.env['PRESTIGE_STORE'] ?? 'memory:')

const handle = (request: Request): Promise<Response> => prestige.fetch(request)

export { handle as DELETE, handle as GET, handle as HEAD, handle as POST, handle as PUT }
