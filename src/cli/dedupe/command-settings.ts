/** What the command reads and writes, and how it runs: from options, and for what was not typed, from the config. */

import type { CommandConfig } from '../../dedupe/index.ts'
import { type NamedInput, sourceOfInput } from '../../input/index.ts'
import type { OptionName } from '../declarations/index.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'

/** Settings that have an option of the same meaning. */
const OPTION_OF = {
  output: 'out',
  duplicates: 'duplicates',
  rejects: 'rejects',
  state: 'state',
  against: 'against',
  plan: 'plan',
  run: 'run',
  workers: 'workers',
  lease: 'lease',
  threads: 'threads',
  durability: 'durability',
  progress: 'progress',
  quiet: 'quiet',
  json: 'json',
} as const satisfies Partial<Record<keyof CommandConfig, OptionName>>

/** Completes the call, and returns its inputs. */
export function completeCall(invocation: Invocation, config: CommandConfig): readonly NamedInput[] {
  const { operands } = invocation
  const typed = operands.map((path) => ({ path, source: sourceOfInput(path) }))
  const inputs = typed.length > 0 ? typed : (config.inputs ?? [])
  if (inputs.length === 0) {
    throw usageFailure(
      'dedupe needs INPUT...: files, directories or globs, - for stdin, or inputs in a config file. Usage: prestige dedupe INPUT... -o DIR',
    )
  }
  const values: Partial<Record<OptionName, string | true>> = {}
  const applied = applicable(invocation, config)
  for (const [name, option] of Object.entries(OPTION_OF)) {
    const value: unknown = Reflect.get(applied, name)
    if (value === true || value === 'true') values[option] = true
    else if (typeof value === 'string' || typeof value === 'number') values[option] = `${value}`
  }
  invocation.complete(
    inputs.map(({ path }) => path),
    values,
  )
  return inputs
}

/** A config describes a job; what is typed may turn it into a plan of it, or give it another state. */
function applicable(invocation: Invocation, config: CommandConfig): Partial<CommandConfig> {
  const isTyped = (...names: OptionName[]) => names.some((name) => invocation.isTyped(name))
  if (config.against !== undefined && isTyped('state', 'backend')) {
    const option = invocation.typedName(isTyped('state') ? 'state' : 'backend')
    throw usageFailure(`${option} has no effect with the setting against of the config.`)
  }
  const applied: { -readonly [K in keyof CommandConfig]: CommandConfig[K] } = { ...config }
  const isAgainst = isTyped('against') || config.against !== undefined
  if (isAgainst || isTyped('state', 'backend')) delete applied.state
  if (isTyped('against')) delete applied.plan
  const isPlan = isTyped('plan') || (applied.plan ?? false) !== false
  if (isPlan || isAgainst)
    for (const name of ['run', 'workers', 'lease'] as const) delete applied[name]
  const out = invocation.text('out') ?? config.output
  if (out !== '-') for (const name of ['duplicates', 'rejects'] as const) delete applied[name]
  return applied
}
