/** The subpath `server`: the HTTP service as a fetch handler, and a listener for Node. */

export {
  type AccessLine,
  type ApiKey,
  createServer,
  listen,
  type Listening,
  type ListenOptions,
  makeKey,
  type NewKey,
  type PrestigeServer,
  readKeys,
  type Scope,
  type ServerLimits,
  type ServerOptions,
  writeKeys,
} from '../server/index.ts'
