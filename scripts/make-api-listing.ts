/**
 * Writes test/golden/api.txt: every export of every subpath with its signature, from the declarations in dist. A diff
 * there is a change of the public API. Run after `npm run build`; `--check` only says whether it is current.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const LISTING: string = join(ROOT, 'test/golden/api.txt')

interface Declaration {
  /** The file it is in. */
  readonly path: string
  readonly name: string
  /** Without comments, on one line. */
  readonly text: string
}

export interface PublicExport extends Declaration {
  /** `.`, `./redis`. */
  readonly subpath: string
  readonly exportedAs: string
  readonly isType: boolean
}

const texts = new Map<string, string>()

function textOf(path: string): string {
  let text = texts.get(path)
  if (text === undefined) {
    text = readFileSync(path, 'utf8')
      .replaceAll(/\/\*[\s\S]*?\*\//g, '')
      .replaceAll(/^\s*\/\/.*$/gm, '')
    texts.set(path, text)
  }
  return text
}

/** Name here → where it comes from, and its name there. */
function linksOf(path: string, verb: 'import' | 'export'): Map<string, readonly [string, string]> {
  const links = new Map<string, readonly [string, string]>()
  const pattern = new RegExp(`^${verb} (?:type )?\\{([^}]*)\\} from '([^']+)'`, 'gm')
  for (const [, names = '', from = ''] of textOf(path).matchAll(pattern)) {
    const target = from.startsWith('.') ? declarationFile(join(dirname(path), from)) : from
    for (const part of names.split(',')) {
      const [there, here] = part
        .replace(/\btype\b/, '')
        .trim()
        .split(/\s+as\s+/)
      if (there) links.set(here ?? there, [target, there])
    }
  }
  return links
}

function declarationFile(path: string): string {
  return path.replace(/\.js$/, '.d.ts').replace(/(?<!\.d)\.ts$/, '.d.ts')
}

/** The declaration of a name, wherever it is re-exported from; `undefined` where it is of another package. */
function declarationOf(path: string, name: string): Declaration | undefined {
  const link = linksOf(path, 'export').get(name) ?? linksOf(path, 'import').get(name)
  if (link) return link[0].startsWith('/') ? declarationOf(...link) : undefined
  const head = new RegExp(
    `^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|const|function\\*?) ${name}\\b`,
    'm',
  )
  const text = textOf(path)
  const start = text.search(head)
  if (start < 0) return undefined
  return { path, name, text: oneLine(text.slice(start, endOf(text, start))) }
}

/** The next statement begins in the first column; overloads follow one another. */
function endOf(text: string, start: number): number {
  const next = /\n(?=(?:export|declare|interface|type|class|const|function)\b)/g
  next.lastIndex = start
  return next.exec(text)?.index ?? text.length
}

function oneLine(text: string): string {
  return text
    .replace(/^export (?:declare )?|^declare /, '')
    .replaceAll(/export \{\};?|#private;/g, '')
    .replaceAll(/^\s*private [^\n]*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

export function publicExports(): PublicExport[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return Object.entries<{ types?: string }>(manifest.exports).flatMap(([subpath, { types }]) => {
    if (!types) return []
    const entrance = join(ROOT, types)
    const typeNames = new Set(
      [...textOf(entrance).matchAll(/^export type \{([^}]*)\}/gm)].flatMap(([, names = '']) =>
        names.split(',').map((name) => name.trim()),
      ),
    )
    return [...linksOf(entrance, 'export').keys()].map((exportedAs) => {
      const found = declarationOf(entrance, exportedAs)
      if (!found) throw new Error(`${subpath} exports ${exportedAs}, which is declared nowhere`)
      const isType = /^(?:interface|type) /.test(found.text) || typeNames.has(exportedAs)
      const { path, name, text } = found
      return { subpath, exportedAs, isType, path, name, text }
    })
  })
}

/** Everything that the exports mention, and what that mentions: by file and name. */
export function reachable(exports: readonly Declaration[]): Declaration[] {
  const found = new Map<string, Declaration>()
  const visit = (declaration: Declaration) => {
    const id = `${declaration.path} ${declaration.name}`
    if (found.has(id)) return
    found.set(id, declaration)
    for (const [word] of declaration.text.matchAll(/\b[A-Z]\w*\b/g)) {
      const other = declarationOf(declaration.path, word)
      if (other) visit(other)
    }
  }
  for (const one of exports) visit(one)
  return [...found.values()]
}

export function apiListing(): string {
  const lines = publicExports().map(
    ({ subpath, exportedAs, name, text }) =>
      `${subpath} ${exportedAs === name ? '' : `${exportedAs}: `}${text}`,
  )
  return `${lines.toSorted().join('\n')}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const listing = apiListing()
  if (!process.argv.includes('--check')) writeFileSync(LISTING, listing)
  else if (readFileSync(LISTING, 'utf8') !== listing) {
    process.stderr.write(`${relative(ROOT, LISTING)} is not current.\n`)
    process.exitCode = 1
  }
}
