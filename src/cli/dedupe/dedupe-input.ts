/** How much there is to read. */

export function inputBytes(shards: readonly { readonly bytes: number }[]): number {
  return shards.reduce((sum, { bytes }) => sum + bytes, 0)
}
