/** The HTTP service: a store, a resolver and corpus runs behind a fetch handler */

export { accessLog } from './access-log.ts'
export { createServer, type PrestigeServer } from './create-server.ts'
export { listen, type Listening, type ListenOptions, nodeHandler } from './node/listen.ts'
export type { AccessLine, ServerLimits, ServerOptions } from './options.ts'
export { type ApiKey, makeKey, type NewKey, readKeys, writeKeys } from './security/api-keys.ts'
export type { Scope } from './http/route.ts'
