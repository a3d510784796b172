/**
 * The longest value the store takes. Known here too, because the library is loaded only when a store is opened, and
 * nobody should read what will be refused; test/architecture.test.ts holds the two together.
 */
export const VALUE_BYTES_MAX: number = 1024 * 1024 * 1024
