/** The part of the engine's WebAssembly that is used here. Node has it; its type packages do not say so. */

export interface WebAssemblyModule {
  readonly [Symbol.toStringTag]: string
}

export interface WebAssemblyMemory {
  readonly buffer: ArrayBuffer
  /** By so many pages of 64 KiB. Gives how many there were. */
  grow(pages: number): number
}

interface WebAssemblyApi {
  validate(bytes: Uint8Array): boolean
  readonly Module: new (bytes: Uint8Array) => WebAssemblyModule
  readonly Instance: new (module: WebAssemblyModule) => { readonly exports: object }
}

const found: unknown = Reflect.get(globalThis, 'WebAssembly')
// safe: the names and shapes are those of the WebAssembly JavaScript Interface; absent is possible.
export const webAssembly = found as WebAssemblyApi | undefined

/** The least module with a vector instruction in it: `i8x16.splat` and a drop. */
const SIMD_PROBE = 'AGFzbQEAAAABBAFgAAADAgEACgkBBwBBAP0PGgs='

export function hasSimd(): boolean {
  return webAssembly?.validate(Buffer.from(SIMD_PROBE, 'base64')) ?? false
}

let choice: 'wasm' | 'twin' | undefined

/** `PRESTIGE_KERNELS=twin` in the environment forces the twins in TypeScript, for tests and for measuring. */
export function preferredKernels(): 'wasm' | 'twin' {
  choice ??= process.env['PRESTIGE_KERNELS'] === 'twin' || !hasSimd() ? 'twin' : 'wasm'
  return choice
}
