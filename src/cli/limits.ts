/** The longest value the store takes. Known here too, so that nobody reads what will be refused. */
export const VALUE_BYTES_MAX: number = 1024 * 1024 * 1024
