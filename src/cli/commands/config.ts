/** `config init [FILE]` writes a config with everything explained; `config check FILE` reads one. */

import { existsSync } from 'node:fs'

import { writeNamed } from '../../platform/atomic-file.ts'
import { configYaml, readJobConfig } from '../../dedupe/index.ts'
import { harmless } from '../../platform/harmless.ts'
import { fileLayer } from '../dedupe/dedupe-settings.ts'
import { Failure, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [what, file] = invocation.operands
  if (what === 'init') return init(file)
  if (what === 'check' && file !== undefined) return check(invocation, file)
  throw usageFailure('Usage: prestige config init [FILE] | config check FILE')
}

async function init(file: string | undefined): Promise<number> {
  if (file === undefined) await print(configYaml())
  else if (existsSync(file)) {
    throw new Failure('invalid', 'TARGET_NOT_EMPTY', `${file} exists already. Choose another name.`)
  } else {
    await writeNamed(file, [configYaml()])
    await print(`written: ${file}\n`)
  }
  return 0
}

async function check(invocation: Invocation, file: string): Promise<number> {
  const { warnings, ...settings } = readJobConfig([await fileLayer(file, invocation.signal)])
  if (invocation.flag('json')) await printJson({ ...settings, warnings })
  else await print(`${[...warnings, `${file} is valid.`].map(harmless).join('\n')}\n`)
  return 0
}
