/** The subpath `unstorage`: a driver. The default export is for configurations that name a driver by its module. */

export {
  type DriverOptions,
  type ItemMeta,
  type ItemOptions,
  prestigeDriver as default,
  prestigeDriver,
  type PrestigeDriver,
} from '../adapters/unstorage.ts'
export type { StoreSource } from '../adapters/store-source.ts'
