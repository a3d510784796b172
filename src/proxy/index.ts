/** The caching reverse proxy: answers of one upstream, kept in a store by the rules of RFC 9111 */

export { createProxy, type Forwarding, type PrestigeProxy } from './create-proxy.ts'
export { type ProxyOptions, requireProxyOptions } from './options.ts'
