/** Content-defined chunks in WebAssembly, in a memory that is only as large as a window. */

import type { Bytes } from '../platform/bytes.ts'
import type { ChunkSizes, Cutter } from './content-chunks.ts'
import { WasmMemory } from './wasm-memory.ts'

export class WasmCutter implements Cutter {
  #memory: WasmMemory | undefined

  cut(bytes: Bytes, sizes: ChunkSizes, isLast: boolean): Uint32Array {
    const memory = (this.#memory ??= new WasmMemory())
    const length = memory.place(bytes)
    const out = memory.heap + Math.ceil(length / 64 + 1) * 64
    memory.reserve(out + (Math.ceil(length / sizes.minBytes) + 1) * 4)
    const count = memory.exports.cut(
      memory.heap,
      length,
      sizes.minBytes,
      sizes.averageBytes,
      sizes.maxBytes,
      sizes.earlyMask,
      sizes.lateMask,
      isLast,
      out,
    )
    return memory.uint32s(out, count)
  }
}
