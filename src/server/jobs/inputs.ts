/** Inputs that a request names by path: only what is below a directory that the server was allowed to read. */

import { realpath } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'

import { codeOf, PrestigeError } from '../../platform/errors.ts'
import { type NamedInput, sourceOfInput } from '../../input/index.ts'
import { HttpProblem } from '../http/problem.ts'

/**
 * Paths as they are on the disk, links resolved. A relative path is below the first root that has it. `out`: the
 * directory for outputs, which must not be below an input: the next run would read it.
 */
export async function inputsBelow(
  roots: readonly string[],
  paths: readonly string[],
  out: string,
): Promise<NamedInput[]> {
  const real: string[] = []
  for (const root of roots) real.push(await realpath(root))
  const inputs: NamedInput[] = []
  for (const path of paths) {
    const found = await placeOf(real, path)
    if (isWithin(found, await realpath(out).catch(() => resolve(out))))
      throw new HttpProblem(
        'INVALID_REQUEST',
        `${path}: the outputs are below this input, and the next run would read them.`,
      )
    inputs.push({ path: found, source: sourceOfInput(path) })
  }
  return inputs
}

async function placeOf(roots: readonly string[], path: string): Promise<string> {
  const below = path.includes('\0')
    ? []
    : roots.map((root) => ({ root, place: resolve(root, path) }))
  const allowed = below.filter(({ root, place }) => isWithin(root, place))
  if (allowed.length === 0) throw outside(path)
  let isOutside = false
  for (const { place } of allowed) {
    const found = await realpath(place).catch((error: unknown) => {
      if (/^(?:ENOENT|ENOTDIR|ELOOP|ENAMETOOLONG|EACCES)$/.test(codeOf(error))) return undefined
      throw error
    })
    if (found === undefined) continue
    if (roots.some((root) => isWithin(root, found))) return found
    isOutside = true
  }
  if (isOutside) throw outside(path)
  throw new PrestigeError(
    'FILE_NOT_FOUND',
    `${path} is not there. A path is relative to a directory of --roots, by which the server was started.`,
  )
}

function isWithin(root: string, place: string): boolean {
  const way = relative(root, place)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** The same whether it is there or not. */
function outside(path: string): HttpProblem {
  return new HttpProblem(
    'FORBIDDEN',
    `${path} is not below a directory that this server may read. It is started with --roots DIR.`,
  )
}
