/** The subpath `proxy`: a caching reverse proxy as a fetch handler, in front of one upstream. */

export {
  createProxy,
  type Forwarding,
  type PrestigeProxy,
  type ProxyOptions,
} from '../proxy/index.ts'
