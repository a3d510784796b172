/** Writes the tree of src into docs/architecture.md, from the first sentence of every entrance. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FILE = join(ROOT, 'docs/architecture.md')
const [BEGIN, END] = ['<!-- tree -->', '<!-- /tree -->']
const NAME_WIDTH = 18

export function withTree(markdown: string): string {
  const [from, to] = [markdown.indexOf(BEGIN), markdown.indexOf(END)]
  if (from < 0 || to < from) throw new Error('docs/architecture.md has lost its marks')
  const tree = ['```text', 'src/', ...lines('src', '  '), '```'].join('\n')
  return `${markdown.slice(0, from + BEGIN.length)}\n\n${tree}\n\n${markdown.slice(to)}`
}

function lines(folder: string, indent: string): string[] {
  const folders = readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted()
  const found: string[] = []
  for (const name of folders) {
    const label = `${indent}${`${name}/`.padEnd(NAME_WIDTH - indent.length)}`
    found.push(`${label} ${summary(join(folder, name))}`.trimEnd())
    found.push(...lines(join(folder, name), `${indent}  `))
  }
  return found
}

/** The first sentence of its entrance; of a folder without one, its files. */
function summary(folder: string): string {
  const entrance = join(ROOT, folder, 'index.ts')
  if (!existsSync(entrance)) return filesOf(folder)
  const comment = /^\/\*\*(?<text>.*?)\*\//s.exec(readFileSync(entrance, 'utf8'))?.groups?.['text']
  const text = (comment ?? '').replaceAll(/\s*\n \* ?/g, ' ').trim()
  return (/^.*?[.](?=\s|$)/.exec(text)?.[0] ?? text).replace(/\.$/, '')
}

function filesOf(folder: string): string {
  const names = readdirSync(join(ROOT, folder))
    .filter((name) => /(?<!\.test)\.tsx?$/.test(name))
    .map((name) => name.replace(/\.tsx?$/, ''))
  return names.join(', ')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(FILE, withTree(readFileSync(FILE, 'utf8')))
}
