/** Bundles the web console into dist/console: one script, one style sheet, one page. */

import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { build } from 'esbuild'

import { DARK, LIGHT } from '../src/report/palette.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SOURCES = join(ROOT, 'src/console')
const BUILT = join(ROOT, 'dist/console')

/** The colours of the report, by the system's setting or by the switch of the console. */
const COLOURS = `
:root { color-scheme: light; ${LIGHT} }
@media (prefers-color-scheme: dark) { :root:not([data-theme='light']) { color-scheme: dark; ${DARK} } }
:root[data-theme='dark'] { color-scheme: dark; ${DARK} }
`

function styleSheet(): string {
  const folder = join(SOURCES, 'style')
  const files = readdirSync(folder).toSorted()
  return [COLOURS, ...files.map((name) => readFileSync(join(folder, name), 'utf8'))].join('\n')
}

mkdirSync(BUILT, { recursive: true })
const how = { bundle: true, minify: true, legalComments: 'none', logLevel: 'warning' } as const
await build({
  ...how,
  entryPoints: [join(SOURCES, 'index.ts')],
  outfile: join(BUILT, 'console.js'),
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
})
await build({
  ...how,
  stdin: { contents: styleSheet(), loader: 'css' },
  outfile: join(BUILT, 'console.css'),
})
for (const name of ['index.html', 'icon.svg']) copyFileSync(join(SOURCES, name), join(BUILT, name))
