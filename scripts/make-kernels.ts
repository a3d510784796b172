/**
 * Compiles `assembly/` to one WebAssembly module and writes it, as text, into `src/fingerprint/kernels-module.ts`.
 *
 * The written file is committed, so that a clone needs no compiler to run; `--if-changed` (the build) compiles
 * only when the sources differ from those it was made from. A test compiles again and compares.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What is used of the compiler. Its own types would put AssemblyScript's globals into every file of ours. */
interface Compiler {
  readonly version: string
  createMemoryStream(): { toString(): string }
  main(
    flags: readonly string[],
    io: { stderr: unknown; writeFile(name: string, contents: Uint8Array | string): void },
  ): Promise<{ error: Error | null }>
}

const COMPILER = 'assemblyscript/asc'
const { default: asc }: { default: Compiler } = await import(COMPILER)

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TARGET = new URL('../src/fingerprint/kernels-module.ts', import.meta.url)
const LINE_WIDTH = 96

const FLAGS = [
  'assembly/index.ts',
  '--baseDir',
  ROOT,
  '--outFile',
  'kernels.wasm',
  '--optimizeLevel',
  '3',
  '--converge',
  '--noAssert',
  '--runtime',
  'stub',
  '--enable',
  'simd',
  // Vectors never cross the border of the module; they pass between its own files.
  '--disableWarning',
  '112',
]

/** Names the sources, the compiler and its flags. */
export function sourcesDigest(): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(new URL('../assembly', import.meta.url)).toSorted()) {
    if (!name.endsWith('.ts')) continue
    hash.update(`${name}\n`).update(readFileSync(new URL(`../assembly/${name}`, import.meta.url)))
  }
  return hash
    .update(JSON.stringify([FLAGS.filter((flag) => flag !== ROOT), asc.version]))
    .digest('hex')
}

/** The text of `kernels-module.ts`. */
export async function kernelsModule(): Promise<string> {
  const wasm = await compile()
  const text = Buffer.from(wasm).toString('base64')
  const lines: string[] = []
  for (let from = 0; from < text.length; from += LINE_WIDTH) {
    lines.push(`  '${text.slice(from, from + LINE_WIDTH)}',`)
  }
  return `${header()}\nexport const kernelsModule: string = [\n${lines.join('\n')}\n].join('')\n`
}

async function compile(): Promise<Uint8Array> {
  const written: Uint8Array[] = []
  const complaints = asc.createMemoryStream()
  const { error } = await asc.main(FLAGS, {
    stderr: complaints,
    writeFile(_name: string, contents: Uint8Array | string) {
      if (typeof contents !== 'string') written.push(contents)
    },
  })
  if (error)
    throw new Error(`assembly/ does not compile: ${complaints.toString()}`, { cause: error })
  const [wasm] = written
  if (wasm === undefined) throw new Error('The compiler wrote no module.')
  return wasm
}

function header(): string {
  return [
    '/**',
    ' * The WebAssembly kernels, compiled from `assembly/` by `scripts/make-kernels.ts`; change those, never this.',
    ' *',
    ` * Sources: ${sourcesDigest()}`,
    ' */',
    '',
  ].join('\n')
}

function isUpToDate(): boolean {
  try {
    return readFileSync(TARGET, 'utf8').includes(sourcesDigest())
  } catch {
    return false
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!process.argv.includes('--if-changed') || !isUpToDate()) {
    writeFileSync(TARGET, await kernelsModule())
  }
}
