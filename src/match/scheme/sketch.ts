/** Texts by similarity sketches alone. Nothing else is kept of a representative: similarities are estimates. */

import type { Banding } from '../../fingerprint/index.ts'
import type { Probe, SignatureLayout, SignatureScheme } from './scheme.ts'
import { TextScheme } from './text.ts'

export type SketchProbe = Probe<Uint16Array, Uint16Array>

/** How sketches are kept and found is the same with and without evidence. */
const SketchLayout: new (slots: number, banding: Banding) => SignatureLayout<Uint16Array> =
  TextScheme

export class SketchScheme
  extends SketchLayout
  implements SignatureScheme<Uint16Array, Uint16Array>
{
  similarity(first: Uint16Array, second: Uint16Array): number {
    return this.estimate(first, second)
  }

  weight({ byteLength }: Uint16Array): number {
    return byteLength
  }
}
