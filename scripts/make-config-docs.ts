/** Writes the table of settings in docs/config.md from the schema. `--check` only says whether it is current. */

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { configTable } from '../src/dedupe/config/config-text.ts'

const FILE = fileURLToPath(new URL('../docs/config.md', import.meta.url))
const [BEGIN, END] = ['<!-- settings -->', '<!-- /settings -->']

export function withSettings(markdown: string): string {
  const [from, to] = [markdown.indexOf(BEGIN), markdown.indexOf(END)]
  if (from < 0 || to < from) throw new Error('docs/config.md has lost its marks')
  return `${markdown.slice(0, from + BEGIN.length)}\n\n${configTable()}\n\n${markdown.slice(to)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const before = readFileSync(FILE, 'utf8')
  const after = withSettings(before)
  if (!process.argv.includes('--check')) writeFileSync(FILE, after)
  else if (before !== after) {
    process.stderr.write('docs/config.md is not current: npx tsx scripts/make-config-docs.ts\n')
    process.exitCode = 1
  }
}
