/** The part of the engine's WebAssembly that is used here. Node has it; its type packages do not say so. */

export interface WebAssemblyModule {
  readonly [Symbol.toStringTag]: string
}

export interface WebAssemblyMemory {
  readonly buffer: ArrayBuffer
}

interface WebAssemblyApi {
  validate(bytes: Uint8Array): boolean
  readonly Module: new (bytes: Uint8Array) => WebAssemblyModule
  readonly Instance: new (module: WebAssemblyModule) => { readonly exports: object }
}

// safe: the names and shapes are those of the WebAssembly JavaScript Interface; absent is possible.
export const webAssembly = (globalThis as { WebAssembly?: WebAssemblyApi }).WebAssembly
