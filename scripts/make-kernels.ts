/**
 * Compiles `assembly/` to WebAssembly modules and writes them, as text, into the rooms that use them.
 *
 * The written files are committed, so that a clone needs no compiler to run; `--if-changed` (the build) compiles
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
const LINE_WIDTH = 96

/** Room → the folder of its sources. */
const MODULES = {
  fingerprint: 'assembly',
  canonical: 'assembly/canonical',
  input: 'assembly/input',
} as const

export type ModuleName = keyof typeof MODULES

const NAMES = Object.keys(MODULES) as ModuleName[] // safe: the keys of a constant

function targetOf(name: ModuleName): URL {
  return new URL(`../src/${name}/kernels-module.ts`, import.meta.url)
}

const FLAGS = [
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
function sourcesDigest(module: ModuleName): string {
  const hash = createHash('sha256')
  const folder = new URL(`../${MODULES[module]}/`, import.meta.url)
  for (const name of readdirSync(folder).toSorted()) {
    if (!name.endsWith('.ts')) continue
    hash.update(`${name}\n`).update(readFileSync(new URL(name, folder)))
  }
  return hash
    .update(JSON.stringify([FLAGS.filter((flag) => flag !== ROOT), asc.version]))
    .digest('hex')
}

/** The text of a room's `kernels-module.ts`. */
export async function moduleText(module: ModuleName): Promise<string> {
  const wasm = await compile(`${MODULES[module]}/index.ts`)
  const text = Buffer.from(wasm).toString('base64')
  const lines: string[] = []
  for (let from = 0; from < text.length; from += LINE_WIDTH) {
    lines.push(`  '${text.slice(from, from + LINE_WIDTH)}',`)
  }
  return `${header(module)}\nexport const kernelsModule: string = [\n${lines.join('\n')}\n].join('')\n`
}

async function compile(entry: string): Promise<Uint8Array> {
  const written: Uint8Array[] = []
  const complaints = asc.createMemoryStream()
  const { error } = await asc.main([entry, ...FLAGS], {
    stderr: complaints,
    writeFile(_name: string, contents: Uint8Array | string) {
      if (typeof contents !== 'string') written.push(contents)
    },
  })
  if (error)
    throw new Error(`${entry} does not compile: ${complaints.toString()}`, { cause: error })
  const [wasm] = written
  if (wasm === undefined) throw new Error('The compiler wrote no module.')
  return wasm
}

function header(module: ModuleName): string {
  return [
    '/**',
    ' * The WebAssembly kernels, compiled from `assembly/` by `scripts/make-kernels.ts`; change those, never this.',
    ' *',
    ` * Sources: ${sourcesDigest(module)}`,
    ' */',
    '',
  ].join('\n')
}

function isUpToDate(name: ModuleName): boolean {
  try {
    return readFileSync(targetOf(name), 'utf8').includes(sourcesDigest(name))
  } catch {
    return false
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isForced = !process.argv.includes('--if-changed')
  for (const name of NAMES) {
    if (isForced || !isUpToDate(name)) writeFileSync(targetOf(name), await moduleText(name))
  }
}
