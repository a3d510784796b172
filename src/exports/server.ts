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
  nodeHandler,
  type PrestigeServer,
  readKeys,
  type Scope,
  type ServerLimits,
  type ServerOptions,
  writeKeys,
} from '../server/index.ts'
