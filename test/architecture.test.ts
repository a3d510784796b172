/** Who may import whom, and other rules that a compiler does not hold. A folder without a rule fails. */

import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** A folder with an entrance, `index.ts`, by which all others use it. The innermost folder counts. */
const MODULES = [
  'backends/conformance',
  'backends/dynamodb',
  'backends/lmdb',
  'backends/memory',
  'backends/redis',
  'backends/simulated',
  'backends',
  'cache',
  'canonical',
  'cli',
  'client',
  'compare',
  'dedupe',
  'exports',
  'fingerprint',
  'fingerprint-store',
  'input',
  'ledger',
  'location',
  'match',
  'memory',
  'proxy',
  'report',
  'resolve',
  'semantic',
  'server',
  'store',
  'telemetry',
]

/** Module → those it may import, besides itself and platform/, whose files each serve everybody. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  platform: [],
  canonical: [],
  input: [],
  fingerprint: ['canonical'],
  compare: ['canonical', 'fingerprint'],
  backends: [
    'backends/dynamodb',
    'backends/lmdb',
    'backends/memory',
    'backends/redis',
    'backends/simulated',
  ],
  'backends/conformance': ['backends/simulated'],
  'backends/dynamodb': ['backends/redis'],
  'backends/lmdb': [],
  'backends/memory': [],
  'backends/redis': [],
  'backends/simulated': [],
  match: ['canonical', 'fingerprint', 'compare', 'backends'],
  semantic: ['fingerprint', 'compare', 'backends'],
  store: ['canonical', 'fingerprint', 'compare', 'match', 'semantic', 'backends', 'backends/lmdb'],
  cache: ['canonical', 'fingerprint', 'compare', 'semantic', 'store', 'backends'],
  memory: ['canonical', 'fingerprint', 'compare', 'semantic', 'store', 'backends'],
  resolve: ['canonical', 'fingerprint', 'compare', 'match', 'backends'],
  'fingerprint-store': ['canonical', 'fingerprint', 'match', 'backends'],
  ledger: ['backends'],
  dedupe: [
    'canonical',
    'fingerprint',
    'compare',
    'match',
    'semantic',
    'input',
    'ledger',
    'backends',
  ],
  telemetry: [],
  report: ['canonical', 'fingerprint', 'compare', 'input', 'dedupe', 'backends'],
  location: ['store', 'resolve', 'ledger', 'fingerprint-store', 'dedupe', 'match', 'backends'],
  index: [
    'location',
    'store',
    'canonical',
    'compare',
    'resolve',
    'ledger',
    'fingerprint-store',
    'dedupe',
    'input',
    'backends',
  ],
  // Of the store it has types alone: it runs where there is no Node.
  client: ['store'],
  proxy: ['store'],
  server: MODULES.filter((name) => !['cli', 'client', 'exports', 'server'].includes(name)),
  // Runs in a browser: types of what the API answers, and nothing that is loaded.
  console: ['store', 'compare', 'dedupe', 'ledger', 'report', 'location'],
  // Without an entrance of its own: each file is for one library, which the others do not need.
  adapters: ['store', 'resolve', 'compare'],
  exports: [...MODULES.filter((name) => name !== 'cli' && name !== 'exports'), 'adapters'],
  // A command loads what it needs: a store without the comparing of texts, or that without a store.
  cli: [...MODULES.filter((name) => name !== 'exports'), 'index', 'adapters'],
}

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .map((path) => path.split('\\').join('/'))
  .filter((path) => /(?<!\.test)\.tsx?$/.test(path))

const textOf = (path: string) => readFileSync(join(ROOT, 'src', path), 'utf8')

function moduleOf(path: string): string {
  const known = MODULES.find((name) => path.startsWith(`${name}/`))
  return known ?? path.split('/')[0]!.replace(/\.ts$/, '')
}

interface Import {
  readonly target: string
  /** Loads the file at once: no type, and not `await import()`. */
  readonly isEager: boolean
}

function importsOf(path: string): Import[] {
  const statements =
    /(?:(?:import|export)\s+(?<kind>type\s)?[^'();=]*?from\s*|(?<lazy>import\())'(?<to>\.[^']+)'/g
  return [...textOf(path).matchAll(statements)].map(({ groups }) => ({
    target: posix.join(posix.dirname(path), groups!['to']!),
    isEager: !groups!['kind'] && !groups!['lazy'],
  }))
}

describe('the architecture', () => {
  it.each(sources)('src/%s imports only what its module may, by entrances', (path) => {
    const own = moduleOf(path)
    const allowed = MAY_IMPORT[own]
    expect(allowed, `module ${own} has no rule`).toBeDefined()
    for (const { target } of importsOf(path)) {
      const other = moduleOf(target)
      if (other === own || (other === 'platform' && own !== 'platform')) continue
      // An engine is part of its family: it shares the contract and the kit.
      if (own.startsWith(`${other}/`)) continue
      expect(allowed, `${path} imports ${target}`).toContain(other)
      // For authors of engines, this subpath is the entrance to what engines are made with.
      if (path === 'exports/backend.ts' && target.startsWith('backends/kit/')) continue
      if (other in MAY_IMPORT && MODULES.includes(other))
        expect(target, `${path} imports past the entrance`).toBe(`${other}/index.ts`)
    }
  })

  it('has no cycle of files that load one another', () => {
    const done = new Set<string>()
    const visit = (path: string, trail: readonly string[]) => {
      expect(trail, 'a cycle').not.toContain(path)
      if (done.has(path)) return
      for (const { target, isEager } of importsOf(path))
        if (isEager) visit(target, [...trail, path])
      done.add(path)
    }
    for (const path of sources) visit(path, [])
  })

  it.each(sources)('src/%s says why its casts are safe, and uses no escape hatch', (path) => {
    const lines = textOf(path).split('\n')
    lines.forEach((line, at) => {
      const code = line.replace(/\/\/.*$/, '').replace(/(['"`]).*?\1/g, '')
      if (/^\s*(\*|\/\*)|\bimport\b|\bexport \{/.test(line)) return
      expect(code, `${path}:${at + 1}`).not.toMatch(/\bas any\b|: any\b|@ts-(ignore|expect-error)/)
      if (!/\bas (?!const\b)[A-Z([{'u]/.test(code)) return
      const near = lines.slice(Math.max(0, at - 3), at + 2).join('\n')
      expect(near, `${path}:${at + 1} casts without saying why it is safe`).toMatch(/safe:/)
    })
  })

  it('has only dependencies whose reason is written down', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const reasons = readFileSync(join(ROOT, 'docs/dependencies.md'), 'utf8')
    const all = {
      ...manifest.dependencies,
      ...manifest.devDependencies,
      ...manifest.peerDependencies,
    }
    for (const name of Object.keys(all)) expect(reasons).toContain(`\`${name}\``)
    expect(Object.keys(manifest.dependencies).toSorted()).toEqual([
      '@valibot/to-json-schema',
      'fs-native-extensions',
      'fzstd',
      'hyparquet',
      'hyparquet-compressors',
      'hyparquet-writer',
      'lmdb',
      'picomatch',
      'tinyglobby',
      'valibot',
      'yaml',
    ])
  })

  it('names no download host and no path of a machine', () => {
    const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8')
    expect(lock).not.toMatch(/"resolved": "http/)
  })

  it('knows one longest value, in the library and before it is loaded', async () => {
    const { VALUE_BYTES_MAX } = await import('../src/store/index.ts')
    const cli = await import('../src/cli/call/limits.ts')
    expect(cli.VALUE_BYTES_MAX).toBe(VALUE_BYTES_MAX)
  })

  it('explains every error code in docs/errors.md', async () => {
    const { errorCodes } = await import('../src/platform/errors.ts')
    const docs = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8')
    for (const code of errorCodes) expect(docs).toContain(`\`${code}\``)
  })
})
