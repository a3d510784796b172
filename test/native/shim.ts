/** Compiles shim.c, for tests that make system calls fail. */

import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const SOURCE = fileURLToPath(new URL('shim.c', import.meta.url))

let built: Promise<string> | undefined

/** The path of the library. */
export function buildShim(): Promise<string> {
  built ??= build()
  return built
}

async function build(): Promise<string> {
  const library = join(mkdtempSync(join(tmpdir(), 'prestige-shim-')), 'shim.so')
  await promisify(execFile)('gcc', ['-O1', '-shared', '-fPIC', '-o', library, SOURCE, '-ldl'])
  return library
}
