/** The subpath `client`: a store behind a server, for Node and browsers. */

export { type ClientOptions, createClient, type StoreClient } from '../client/index.ts'
