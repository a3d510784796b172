/** A client of the HTTP service with the methods of a store */

export { createClient, type StoreClient } from './client.ts'
export type { ClientOptions } from './transport.ts'
