/**
 * Bundles the command line into dist/command, from the modules that are in dist: one file for what commands share in
 * place of hundreds, which takes a third off the time a command needs to start. What is found beside a module (threads,
 * kernels, the console) stays where it is: `import.meta.url` of a module is still its own.
 */

import { readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

import { build, type Plugin } from 'esbuild'

const BUILT = fileURLToPath(new URL('../dist', import.meta.url))
const BUNDLE = join(BUILT, 'command')

const ownUrls: Plugin = {
  name: 'own-urls',
  setup(bundle) {
    bundle.onLoad({ filter: /\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!path.startsWith(BUILT + sep) || !text.includes('import.meta.url')) return undefined
      const own = JSON.stringify(relative(BUNDLE, path).replaceAll(sep, '/'))
      const contents = text.replaceAll('import.meta.url', `new URL(${own}, import.meta.url).href`)
      return { contents, resolveDir: dirname(path) }
    })
  },
}

await build({
  entryPoints: [join(BUILT, 'cli/main.js')],
  outdir: BUNDLE,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  logLevel: 'warning',
  plugins: [ownUrls],
})
