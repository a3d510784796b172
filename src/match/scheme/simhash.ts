/** Texts by SimHash. Nothing else is kept of a representative: what is estimated from the bits is exact. */

import { BitLayout } from './bits.ts'
import type { Probe, SignatureScheme } from './scheme.ts'

export type SimHashProbe = Probe<Uint8Array, Uint8Array>

export class SimHashScheme extends BitLayout implements SignatureScheme<Uint8Array, Uint8Array> {
  similarity(first: Uint8Array, second: Uint8Array): number {
    return this.estimate(first, second)
  }

  weight({ byteLength }: Uint8Array): number {
    return byteLength
  }
}
