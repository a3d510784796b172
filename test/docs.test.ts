/**
 * The documents tell the truth: every block of code in them compiles, runs, and prints what it says; every
 * relative link leads somewhere. Only a block marked `no-run` is left alone.
 *
 * `// → text` (in a shell, `# → text`) stands for a line of output. A block that has any must print exactly
 * these lines. Blocks run in a directory of their own against the built package, as a user's program would; programs
 * share a process, and those that are tests, which report when it ends, have one of their own. Commands of README.md
 * are processes; those of other documents are run here, where everything is loaded once.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { withTree } from '../scripts/make-architecture-docs.ts'
import { withSettings } from '../scripts/make-config-docs.ts'
import { errorCodes, PrestigeError } from '../src/platform/errors.ts'
import { resolverOptions, vectorOptions } from '../src/resolve/options.ts'
import { infoOf } from '../src/telemetry/catalogue.ts'
import { inProcess, MAIN } from './children/cli.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const PROGRAMS = join(ROOT, 'test/children/programs.mjs')
const NPX = join(ROOT, 'test/children/npx.cjs')
/** Of what hangs. */
const TIMEOUT_MS = 150_000

const namesIn = (folder: string) =>
  readdirSync(join(ROOT, folder)).filter((name) => !name.startsWith('.'))
const guides = ['README.md']
for (const folder of ['docs', 'docs/guides']) {
  for (const name of namesIn(folder)) if (name.endsWith('.md')) guides.push(`${folder}/${name}`)
}
const documents = [
  ...guides,
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...namesIn('examples').map((name) => `examples/${name}/README.md`),
]

const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')

interface Block {
  /** `docs/architecture.md, line 12`. */
  readonly name: string
  readonly language: string
  readonly code: string
  /** Its file's name; the directory it runs in bears the same. */
  readonly file: string
}

function blocksOf(path: string): Block[] {
  const found = textOf(path).matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)
  return [...found].flatMap(({ 1: language = '', 2: marks = '', 3: code = '', index, input }) => {
    if (marks.includes('no-run')) return []
    const line = input.slice(0, index).split('\n').length
    const file = `${path.replace(/\.md$/, '').replaceAll('/', '-')}-${line}`
    return [{ name: `${path}, line ${line}`, language, code, file }]
  })
}

const blocks = guides.flatMap(blocksOf)
const programs = blocks.filter(({ language }) => language === 'ts' || language === 'js')
const isTest = ({ code }: Block) => code.includes("'node:test'")
const scripts = blocks.filter(
  ({ language, code }) => language === 'sh' && /^npx prestige/m.test(code) && !/npm ci/.test(code),
)

let place: string
/** What the compiler had to say about all the blocks. */
let compiled: Ended
/** All programs that share a process, and what it printed about each. */
let together: Promise<Ended>
let commandLine: Server

beforeAll(async () => {
  expect(existsSync(join(ROOT, 'dist/index.js')), 'run `npm run build` first').toBe(true)
  place = await mkdtemp(join(tmpdir(), 'prestige-docs-'))
  await mkdir(join(place, 'node_modules'))
  await symlink(ROOT, join(place, 'node_modules/prestige-dedup'), 'junction')
  const unstorage = join(ROOT, 'node_modules/unstorage')
  await symlink(unstorage, join(place, 'node_modules/unstorage'), 'junction')
  for (const block of [...programs, ...scripts]) await mkdir(join(place, block.file))
  for (const { file, language, code } of programs) {
    await writeFile(join(place, file, `${file}.${language === 'ts' ? 'mts' : 'mjs'}`), code)
  }
  compiled = await compile()
  commandLine = await listen(join(place, 'socket'))
  await writeNpx('process', `shift\nexec '${process.execPath}' '${MAIN}' "$@"`)
  await writeNpx('here', `exec '${process.execPath}' '${NPX}' "$@"`)
  const paths = programs.filter((block) => !isTest(block)).map(builtPath)
  together = end(place, process.execPath, [PROGRAMS, ...paths])
})
afterAll(async () => {
  commandLine.close()
  await rm(place, { recursive: true })
})

/** `npx prestige`, without asking npm where it is: as a process of its own, or run here. */
async function writeNpx(how: 'process' | 'here', script: string): Promise<void> {
  await mkdir(join(place, how))
  await writeFile(join(place, how, 'npx'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
}

/** Runs what test/children/npx.cjs asks for. */
async function listen(path: string): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    answer(socket).catch((error: unknown) => socket.destroy(Object(error)))
  })
  server.listen(path)
  await once(server, 'listening')
  return server
}

async function answer(socket: Socket): Promise<void> {
  const asked = await text(socket.iterator({ destroyOnReturn: false }))
  const { args, cwd, input } = JSON.parse(asked)
  const { code, out, err } = await inProcess(args, { cwd, input: Buffer.from(input, 'base64') })
  socket.end(JSON.stringify({ code, out: out.toString('base64'), err }))
}

const builtPath = ({ file }: Block) => join(place, file, `${file}.mjs`)

async function printedBy(block: Block): Promise<string> {
  if (isTest(block)) return run(join(place, block.file), process.execPath, [builtPath(block)])
  const { out: lines, errors } = await together
  const path = builtPath(block)
  const line = lines.split('\n').find((one) => one.startsWith(`{"path":${JSON.stringify(path)}`))
  expect(line, `It did not run to its end.\n${errors}`).toBeDefined()
  const { out, error } = JSON.parse(line ?? '')
  expect(error, `${errors}\n${out}`).toBeUndefined()
  return out
}

/** Compiles all blocks at once, strictly, against the types of the built package. */
async function compile(): Promise<Ended> {
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      target: 'ES2022', // Node 20 does not know `await using`
      noEmit: false,
      noUnusedLocals: false,
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    include: ['*/*.mts'],
  }
  await writeFile(join(place, 'tsconfig.json'), JSON.stringify(config))
  return end(place, process.execPath, [TSC, '-p', '.'])
}

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

async function end(
  cwd: string,
  program: string,
  args: readonly string[],
  npx: 'process' | 'here' = 'process',
): Promise<Ended> {
  const path = [join(place, npx), process.env['PATH']].join(delimiter)
  const socket = { PRESTIGE_TEST_SOCKET: join(place, 'socket') }
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...socket, PATH: path, NO_COLOR: '1', PRESTIGE_STORE: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  })
  const exited = once(child, 'exit')
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await exited
  return { code, out, errors }
}

/** What it printed, having ended well. */
async function run(...call: Parameters<typeof end>): Promise<string> {
  const { code, out, errors } = await end(...call)
  expect(code, `${errors}\n${out}`).toBe(0)
  return out
}

function expectPrinted(printed: string, code: string): void {
  const told = [...code.matchAll(/(?:\/\/|#) → (.*)$/gm)].map(([, line = '']) => line.trimEnd())
  const lines = printed.split('\n').map((line) => line.trimEnd())
  if (told.length > 0) expect(lines.join('\n').trimEnd()).toBe(told.join('\n'))
}

describe('the code in the documents', () => {
  it.concurrent.each(programs)('runs: $name', async (block) => {
    expectPrinted(await printedBy(block), block.code)
  })

  it.concurrent('ends: no program leaves anything open', async () => {
    const { code, errors } = await together
    expect(code, errors).toBe(0)
  })

  it.concurrent.each(scripts)('runs: $name', async ({ file, code }) => {
    const npx = file.startsWith('README') ? 'process' : 'here'
    expectPrinted(await run(join(place, file), 'sh', ['-e', '-c', code], npx), code)
  })

  it('compiles against the types of the package', () => {
    expect(compiled, compiled.out).toMatchObject({ code: 0 })
  })

  it('is there to be run', () => {
    expect(programs.length).toBeGreaterThan(15)
    expect(scripts.length).toBeGreaterThan(1)
  })
})

describe('the links in the documents', () => {
  /** How GitHub makes the anchor of a heading. */
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
  const withoutCode = (markdown: string) => markdown.replaceAll(/^```.*?^```$/gms, '')

  it.each(documents)('of %s lead somewhere', (path) => {
    for (const [, link = ''] of withoutCode(textOf(path)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue
      const [file, anchor] = link.split('#')
      const target = file ? join(dirname(path), file) : path
      expect(existsSync(join(ROOT, target)), `${path} links to ${link}`).toBe(true)
      if (anchor === undefined) continue
      const headings = withoutCode(textOf(target)).matchAll(/^#+ (.+)$/gm)
      const anchors = [...headings].map(([, heading = '']) => anchorOf(heading))
      expect(anchors, `${path} links to ${link}`).toContain(anchor)
    }
  })

  it('leave no guide out of the map in README.md', () => {
    for (const path of guides.slice(1)) expect(textOf('README.md')).toContain(`](${path})`)
  })
})

describe('examples', () => {
  it.each(namesIn('examples'))('%s prints what its README says', async (name) => {
    const told = /^```text\n(.*?)^```$/ms.exec(textOf(`examples/${name}/README.md`))?.[1]
    const command = /^```sh\nnode (.+)\n```$/m.exec(textOf(`examples/${name}/README.md`))?.[1]
    expect(await run(ROOT, process.execPath, command!.split(' '))).toBe(told)
  })
})

describe('docs/resolver.md', () => {
  it('names every option, and no other', () => {
    const table = /^## Options$.*?(?=^## )/ms.exec(textOf('docs/resolver.md'))?.[0] ?? ''
    const cells = [...table.matchAll(/^\| (`.+?`) \|/gm)].map(([, names = '']) => names)
    const told = cells.flatMap((names) => names.split(', ')).map((name) => name.replaceAll('`', ''))
    expect(told.toSorted()).toEqual(Object.keys(resolverOptions.entries).toSorted())
    for (const name of Object.keys(vectorOptions.entries)) expect(table).toContain(`\`${name}\``)
  })

  it('names every metric', () => {
    const instruments = textOf('src/resolve/instruments.ts')
    for (const [, name] of instruments.matchAll(/\$\{prefix\}\.([a-z_.]+)`/g)) {
      expect(textOf('docs/resolver.md')).toContain(`| \`${name}\` |`)
    }
  })
})

describe('docs/metrics.md', () => {
  const files = readdirSync(join(ROOT, 'src/store'), { recursive: true, encoding: 'utf8' })
  const sources = files.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  const code = [...sources.map((path) => join('src/store', path)), 'src/cache/tally.ts']
    .map(textOf)
    .join('')
  const full = [...code.matchAll(/'(prestige\.[a-z0-9_]+\.[a-z0-9_]+)'/g)].map(
    ([, name = '']) => name,
  )
  const short = /SHORT_NAMES = \[(.*?)\]/s.exec(code)?.[1]?.match(/[a-z0-9_]+/g) ?? []

  it.each([...new Set(full)].toSorted())('names %s, which has a description', (name) => {
    expect(textOf('docs/metrics.md')).toContain(`\`${name}\``)
    expect(infoOf(name).description).not.toContain(name)
  })

  it.each(short)('names %s of operations, which has a description', (name) => {
    expect(textOf('docs/metrics.md')).toMatch(new RegExp(`[\`.]${name}\``))
    expect(infoOf(`prestige.put.${name}`).description).not.toContain(name)
  })
})

describe('docs/config.md', () => {
  it('is what the schema says', () => {
    const before = textOf('docs/config.md')
    expect(withSettings(before), 'run `npx tsx scripts/make-config-docs.ts`').toBe(before)
  })
})

describe('docs/architecture.md', () => {
  it('shows the tree of src', () => {
    const before = textOf('docs/architecture.md')
    expect(withTree(before), 'run `npx tsx scripts/make-architecture-docs.ts`').toBe(before)
  })
})

describe('docs/errors.md', () => {
  it('gives every code its kind', () => {
    const rows = [...textOf('docs/errors.md').matchAll(/^\| `([A-Z_]+)` \| (\w+) \|/gm)]
    const told = rows.map(([, code, kind]) => `${code} ${kind}`)
    const kinds = errorCodes.map((code) => `${code} ${new PrestigeError(code, '').kind}`)
    expect(told.toSorted()).toEqual(kinds.toSorted())
  })

  it('names every kind of problem that verify reports', () => {
    const report = textOf('src/store/verify/report.ts')
    const kinds = [...report.matchAll(/^ {2}\| '([a-z-]+)'$/gm)].map(([, kind]) => kind)
    const rows = [...textOf('docs/errors.md').matchAll(/^\| `([a-z-]+)` \|/gm)]
    expect(kinds).toContain('content-damaged')
    expect(rows.map(([, kind]) => kind)).toEqual(kinds)
  })
})
