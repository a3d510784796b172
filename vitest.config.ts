/**
 * Tests import sources, and get what was built of them: it needs no transformation, its threads need no loader, and
 * it is what is published. Where the build is older than a source, and in watch mode, they get the sources themselves.
 *
 * Tests beside the sources share a process for each core; those of the whole have one of their own each, and so has
 * whatever changes or measures its process.
 */

import { existsSync, readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

import { defineConfig, type Plugin } from 'vitest/config'

const ROOT = dirname(fileURLToPath(import.meta.url))
const SOURCES = join(ROOT, 'src') + sep
const BUILT = join(ROOT, 'dist') + sep

/** They make packages fail to load, which works only in modules that go through Vite. */
const FROM_SOURCES = ['src/platform/s3/s3.test.ts', 'test/dynamodb/cli.test.ts']

/** They change or measure the process they run in. */
const ALONE = [
  'src/fingerprint/near-table.test.ts',
  'src/input/zstd-blocks.test.ts',
  'src/backends/lmdb/backend.test.ts',
]

/** Of packages that need Node 22. The step of CI on a newer Node runs them. */
const NEWER_NODE = ['src/adapters/keyv.test.ts', 'src/adapters/ai-sdk.test.ts']
const isNewer = Number(process.versions.node.split('.')[0]) >= 22
const UNFIT = isNewer ? [] : NEWER_NODE

function isBuilt(): boolean {
  if (!process.argv.includes('run') || !existsSync(`${BUILT}index.js`)) return false
  const builtMs = statSync(`${BUILT}index.js`).mtimeMs
  const isOlder = (name: string) => statSync(join(SOURCES, name)).mtimeMs <= builtMs
  const names = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  return names.every((name) => !/(?<!\.test)\.ts$/.test(name) || isOlder(name))
}

const builtForSources: Plugin = {
  name: 'built-for-sources',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !/^\..*\.ts$/.test(source)) return undefined
    const path = resolve(dirname(importer), source)
    if (!path.startsWith(SOURCES) || !existsSync(path)) return undefined
    const built = BUILT + path.slice(SOURCES.length).replace(/\.ts$/, '.js')
    return existsSync(built) ? built : undefined
  },
}

const plugins = isBuilt() ? [builtForSources] : []
if (plugins.length === 0) console.warn('Tests run from sources, more slowly: dist/ is older.')

export default defineConfig({
  test: {
    pool: 'forks',
    // The built package is loaded as users load it.
    server: { deps: { external: [/\/dist\//] } },
    // One more than there are cores, since tests wait for disks, processes and moments as well.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // In the order of their names. The last ones are short, so that no core is idle for long.
    projects: [
      { extends: true, test: { name: '1-sources', include: FROM_SOURCES } },
      {
        extends: true,
        plugins,
        test: {
          name: '2-alone',
          include: ['test/**/*.test.ts', 'examples/**/*.test.ts', ...ALONE],
          exclude: FROM_SOURCES,
        },
      },
      {
        extends: true,
        plugins,
        test: {
          name: '3-shared',
          include: ['src/**/*.test.ts'],
          exclude: [...FROM_SOURCES, ...ALONE, ...UNFIT],
          isolate: false,
        },
      },
    ],
  },
})
