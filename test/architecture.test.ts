/** Who may import whom, and other rules that a compiler does not hold. A folder without a rule fails. */

import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOUNDATION = new Set([
  'abandoned',
  'bytes',
  'display-width',
  'errors',
  'harmless',
  'makeable',
  'model',
  'nearest',
  'options',
  'sinks',
  'units',
  'web-assembly',
])
const CONTRACT = ['backends/contract', 'backends/gate', 'backends/ids', 'backends/sealed']

/** Room → what its files may import besides their own room and the foundation. A name with `/` is one file. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  abandoned: [],
  bytes: ['errors'],
  'display-width': ['harmless'],
  harmless: [],
  makeable: ['errors'],
  errors: [],
  model: [],
  nearest: [],
  options: ['errors'],
  sinks: ['model'],
  units: [],
  'web-assembly': [],
  canonical: [],
  input: [],
  fingerprint: ['canonical'],
  decide: ['canonical', 'fingerprint'],
  near: ['canonical', 'fingerprint', ...CONTRACT],
  semantic: ['fingerprint', 'decide', ...CONTRACT],
  store: ['canonical', 'fingerprint', 'near', 'semantic', ...CONTRACT],
  resolve: ['canonical', 'fingerprint', 'decide', 'near', 'store', ...CONTRACT],
  dedupe: ['canonical', 'fingerprint', 'near', 'semantic', 'store', 'input', 'ledger', ...CONTRACT],
  report: ['canonical', 'fingerprint', 'decide', 'input', 'dedupe', ...CONTRACT],
  ledger: [...CONTRACT],
  backends: [],
  'open-store': ['store', 'backends'],
  'verify-store': ['store', 'backends', 'open-store'],
  'open-resolver': ['resolve', 'backends'],
  'open-dedupe': ['dedupe', 'semantic', 'backends'],
  'open-ledger': ['ledger', 'backends'],
  index: [
    'store',
    'canonical',
    'fingerprint',
    'decide',
    'resolve',
    'ledger',
    'open-ledger',
    'open-store',
    'open-resolver',
    'open-dedupe',
    'dedupe',
    'input',
    'backends/contract',
  ],
  // A command loads what it needs: a store without the comparing of texts, or that without a store.
  cli: [
    'index',
    'open-ledger',
    'open-store',
    'verify-store',
    'open-resolver',
    'open-dedupe',
    'report',
    'decide',
    'semantic',
    'dedupe/job-config',
    'dedupe/config-text',
    'dedupe/records',
    'backends/dynamodb/index',
    'backends/secrets',
  ],
}

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .map((path) => path.split('\\').join('/'))
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))

const textOf = (path: string) => readFileSync(join(ROOT, 'src', path), 'utf8')
const roomOf = (path: string) => path.split('/')[0]!.replace(/\.ts$/, '')

function importsOf(path: string): string[] {
  const found = textOf(path).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)
  return [...found].map(([, to]) => posix.join(posix.dirname(path), to!).replace(/\.ts$/, ''))
}

describe('the architecture', () => {
  it.each(sources)('src/%s imports only what its room may', (path) => {
    const room = roomOf(path)
    const allowed = MAY_IMPORT[room]
    expect(allowed, `room ${room} has no rule`).toBeDefined()
    for (const target of importsOf(path)) {
      const own = roomOf(target) === room
      const base = room in MAY_IMPORT && !FOUNDATION.has(room) && FOUNDATION.has(target)
      const named = allowed!.some((name) => target === name || roomOf(target) === name)
      expect(own || base || named, `${path} imports ${target}`).toBe(true)
    }
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
      'fs-native-extensions',
      'fzstd',
      'hyparquet',
      'hyparquet-compressors',
      'hyparquet-writer',
      'lmdb',
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
    const { VALUE_BYTES_MAX } = await import('../src/index.ts')
    const cli = await import('../src/cli/limits.ts')
    expect(cli.VALUE_BYTES_MAX).toBe(VALUE_BYTES_MAX)
  })

  it('explains every error code in docs/errors.md', async () => {
    const { errorCodes } = await import('../src/platform/errors.ts')
    const docs = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8')
    for (const code of errorCodes) expect(docs).toContain(`\`${code}\``)
  })
})
