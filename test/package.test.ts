/**
 * The package as users get it: packed, unpacked into an empty project beside its dependencies and nothing else. Its
 * types compile strictly with the declarations of all it refers to (no `skipLibCheck`), the README's programs run, and
 * the commands start.
 */

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const NAME: string = manifest.name
/** Who imports one of these has installed what it is for. */
const PEERS: Record<string, string> = {
  './dynamodb': '@aws-sdk/client-dynamodb',
  './langchain': '@langchain/core',
  './redis': 'ioredis',
}
/** Its peer's declarations do not compile with `exactOptionalPropertyTypes`. */
const LAX = './langchain'
const packageOf = (specifier: string) =>
  specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
const subpaths = Object.keys(manifest.exports).filter((name) => name !== './package.json')

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
const programs = [...readme.matchAll(/^```(ts|js)\n(.*?)^```$/gms)].map(
  ([, language = '', code = ''], at) => ({ name: `readme-${at + 1}.m${language}`, code }),
)

let project: string
let packed: readonly string[]

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'prestige-package-'))
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', project]
  const { stdout } = await run('npm', pack, { cwd: ROOT })
  const [{ filename, files }] = JSON.parse(stdout)
  packed = files.map(({ path }: { path: string }) => path)
  const own = join(project, 'node_modules', NAME)
  await mkdir(own, { recursive: true })
  await run('tar', ['xzf', join(project, filename), '-C', own, '--strip-components=1'])
  for (const name of [
    ...Object.keys(manifest.dependencies),
    ...Object.values(PEERS),
    '@types/node',
  ]) {
    const link = join(project, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), link, 'junction')
  }
  await writeFile(join(project, 'package.json'), '{ "name": "empty", "type": "module" }')
  for (const { name, code } of programs) await writeFile(join(project, name), code)
})
afterAll(() => rm(project, { recursive: true, force: true }))

/** Every declaration file that a public entry leads to, and the packages they name. */
async function declarationsOf(entry: string): Promise<Map<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>()
  const visit = async (path: string): Promise<void> => {
    if (found.has(path)) return
    const text = await readFile(path, 'utf8')
    const targets = [...text.matchAll(/(?:from |import\()["']([^"']+)["']/g)].map(
      ([, to = '']) => to,
    )
    found.set(
      path,
      targets.filter((to) => !to.startsWith('.')),
    )
    for (const to of targets) {
      if (to.startsWith('.'))
        await visit(
          join(dirname(path), to.replace(/\.js$/, '.d.ts').replace(/(?<!\.d)\.ts$/, '.d.ts')),
        )
    }
  }
  await visit(join(project, 'node_modules', NAME, entry))
  return found
}

describe('the package', () => {
  it('has examples and documents, and neither tests nor source maps', () => {
    expect(packed).toContain('examples/basic/basic.mjs')
    expect(packed).toContain('docs/getting-started.md')
    expect(packed.filter((path) => /\.map$|\.test\.|^test|^src/.test(path))).toEqual([])
  })

  it.each(subpaths)('needs no types of a package that may be missing: %s', async (subpath) => {
    const declarations = await declarationsOf(manifest.exports[subpath].types)
    const all = [...declarations.values()].flat().filter((to) => !to.startsWith('node:'))
    const named = new Set(all.map(packageOf))
    const present = new Set([...Object.keys(manifest.dependencies), PEERS[subpath]])
    // lmdb's declarations do not compile without skipLibCheck.
    expect([...named].filter((name) => name === 'lmdb' || !present.has(name))).toEqual([])
  })

  it('compiles strictly, without skipLibCheck', async () => {
    const strict = subpaths.filter((path) => path !== LAX)
    const imports = strict.map((path, at) => {
      const specifier = path.replace('.', NAME)
      return `import * as entry${at} from '${specifier}'\nconsole.log(typeof entry${at})\n`
    })
    await writeFile(join(project, 'all.mts'), imports.join(''))
    const compilerOptions = {
      strict: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      module: 'NodeNext',
      target: 'ES2022',
      lib: ['ES2023', 'ESNext.Disposable'],
      types: ['node'],
      outDir: 'compiled',
    }
    const config = { compilerOptions, include: ['*.mts'] }
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const compiled = await run(process.execPath, [tsc, '-p', '.'], { cwd: project }).catch(
      (error: { stdout: string }) => error,
    )
    expect(compiled.stdout).toBe('')
    const { stdout } = await run(process.execPath, ['compiled/all.mjs'], { cwd: project })
    expect(stdout).toBe('object\n'.repeat(strict.length))
  })

  it.each(programs)('runs the program $name of the README', async ({ name, code }) => {
    const file = name.endsWith('.mts') ? join('compiled', name.replace('.mts', '.mjs')) : name
    const { stdout } = await run(process.execPath, [file], { cwd: project })
    const expected = [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, line = '']) => line)
    if (expected.length > 0) expect(stdout.trimEnd()).toBe(expected.join('\n'))
  })

  it.each(Object.entries<string>(manifest.bin))('has the command %s', async (_, file) => {
    const command = join(project, 'node_modules', NAME, file)
    const { stdout } = await run(command, ['--version'], { cwd: project })
    expect(stdout.trim()).toBe(manifest.version)
  })
})
