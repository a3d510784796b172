/** The subpath `keyv`: storage for Keyv 6. */

export {
  type KeyvCapabilities,
  type KeyvItem,
  KeyvStorage,
  type KeyvStorageOptions,
} from '../adapters/keyv.ts'
export type { StoreSource } from '../adapters/store-source.ts'
