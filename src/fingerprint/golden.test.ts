import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { describe, expect, it } from 'vitest'

import { goldenFingerprints } from '../../test/texts/golden-fingerprints.ts'

const FILE = new URL('../../test/golden/fingerprints.json', import.meta.url)
const CHILD = fileURLToPath(new URL('../../test/children/golden-fingerprints.ts', import.meta.url))

const golden = (): Record<string, unknown> => JSON.parse(readFileSync(FILE, 'utf8'))

async function inAnotherProcess(
  environment: Record<string, string>,
  flags: readonly string[] = [],
  what: 'all' | 'small' = 'all',
): Promise<unknown> {
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [...flags, '--import', 'tsx', CHILD, what], {
    env: { ...process.env, ...environment },
    maxBuffer: 1 << 26,
  })
  return JSON.parse(stdout)
}

describe('the golden fingerprints', () => {
  // A difference is a change of format: raise ALGORITHMS in hash-version.ts, then write the file again
  // with UPDATE_GOLDEN=1.
  it('are what they have always been', () => {
    const now: unknown = JSON.parse(JSON.stringify(goldenFingerprints()))
    if (process.env['UPDATE_GOLDEN'] === '1') {
      expect(process.env['CI'], 'CI never writes golden files').toBeUndefined()
      writeFileSync(FILE, `${JSON.stringify(now, null, 1)}\n`)
    }
    expect(now).toEqual(golden())
  })

  it('are the same in two other processes, with other kernels, in another place and language', async () => {
    // The large text is the same to the same kernels in whatever language.
    const { tenMegabytes: _large, ...small } = golden()
    const hindi = { TZ: 'Asia/Kolkata', LANG: 'hi_IN.UTF-8', LC_ALL: 'hi_IN.UTF-8' }
    const [first, second] = await Promise.all([
      inAnotherProcess(hindi, [], 'small'),
      inAnotherProcess({ PRESTIGE_KERNELS: 'twin', TZ: 'America/Lima', LANG: 'tr_TR.UTF-8' }),
    ])
    expect(first).toEqual(small)
    expect(second).toEqual(golden())
  })

  // Without a compiler there is no WebAssembly either, so the twin runs, and slowly: the large text is left out.
  it.each([
    ['no compiler and no WebAssembly', ['--jitless']],
    ['another seed for all its tables', ['--hash-seed=99', '--random-seed=7']],
    ['the simple compiler alone', ['--liftoff-only', '--no-opt']],
  ])('are the same in an engine with %s', async (_name, flags) => {
    const { tenMegabytes: _large, ...small } = golden()
    expect(await inAnotherProcess({ LANG: 'C', TZ: 'UTC' }, flags, 'small')).toEqual(small)
  })
})
