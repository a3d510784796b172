/** What a corpus is called: the nearest directory that all inputs are in, and the first of their names. */

import { basename, dirname, relative, sep } from 'node:path'

import type { InputFile } from '../input/index.ts'
import { countOf } from '../platform/units.ts'
import type { Report } from './report.ts'

const NAMES_MAX = 3

export function corpusOf(
  files: readonly Pick<InputFile, 'file' | 'path'>[],
): Pick<Report['inputs'], 'directory' | 'names'> {
  const own = new Map(files.map(({ file, path }) => [file, path]))
  // Stdin was kept in a file whose place says nothing.
  const named = [...own].filter(([file, path]) => slashed(file).endsWith(path))
  const folders = named.map(([file]) => dirname(file))
  const root = folders.reduce(commonOf, folders[0])
  const isNamed = new Set(named.map(([file]) => file))
  const names = [...own]
    .slice(0, NAMES_MAX)
    .map(([file, path]) => (isNamed.has(file) ? slashed(relative(root ?? '', file)) : path))
  return { directory: root === undefined ? '' : basename(root), names }
}

function slashed(path: string): string {
  return path.split(sep).join('/')
}

function commonOf(one: string | undefined, other: string): string | undefined {
  if (one === undefined) return undefined
  let common = one
  while (other !== common && !other.startsWith(common.endsWith(sep) ? common : common + sep)) {
    const above = dirname(common)
    if (above === common) break
    common = above
  }
  return common
}

/** `crawl (one.jsonl, two.jsonl and 3 more files)`, or `crawl/one.jsonl`. */
export function corpusText({ directory, names, files }: Report['inputs']): string {
  const [first = ''] = names
  if (names.length === 0) return ''
  if (files === 1) return directory === '' ? first : `${directory}/${first}`
  const left = files - names.length
  const more = left > 0 ? ` and ${countOf(left, 'more file')}` : ''
  const all = `${names.join(', ')}${more}`
  return directory === '' ? all : `${directory} (${all})`
}
