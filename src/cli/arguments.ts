/** Reads the arguments of a call by the table in commands.ts, and answers mistakes with what may be meant. */

import { parseArgs } from 'node:util'

import {
  type Command,
  type CommandName,
  commands,
  globalOptions,
  isCommandName,
  isOptionName,
  type OptionForm,
  optionForms,
  type OptionName,
} from './declarations/index.ts'
import { usageFailure } from './failure.ts'
import { Invocation } from './invocation.ts'
import { nearest } from '../platform/did-you-mean.ts'
import { suggestCommand } from './suggest.ts'

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

export function readInvocation(args: readonly string[], signal: AbortSignal): Invocation {
  refuseReplaced(args)
  const given = parseArgs({
    args: [...args],
    options: optionForms,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const [typed, ...operands] = given.positionals
  const name = commandName(typed)
  const command: Command = commands[name]
  const values: Partial<Record<OptionName, string | true>> = {}
  for (const token of given.tokens) {
    if (token.kind !== 'option') continue
    const option = optionName(token, name, command)
    values[option] = optionValue(token, option)
  }
  checkOperands(name, command, operands)
  return new Invocation(name, operands, values, signal)
}

/**
 * Node decodes arguments as UTF-8 and puts U+FFFD where it cannot: two different keys would become one. A
 * true U+FFFD cannot be distinguished from that, and has another way in.
 */
function refuseReplaced(args: readonly string[]): void {
  const bad = args.find((arg) => arg.includes('\ufffd'))
  if (bad === undefined) return
  throw usageFailure(
    `The argument "${bad}" is not valid UTF-8, or holds U+FFFD. Write such keys with -e and \\xHH ` +
      `for a byte, as \`prestige keys\` prints them, and give such values on stdin or with --file.`,
  )
}

function commandName(typed: string | undefined): CommandName {
  if (typed === undefined) throw usageFailure('Name a command. See prestige help.')
  if (isCommandName(typed)) return typed
  throw usageFailure(
    `There is no command "${typed}".${didYouMean(suggestCommand(typed))} See prestige help.`,
  )
}

function optionName({ name, rawName }: OptionToken, of: CommandName, command: Command): OptionName {
  const allowed = [...Object.keys(globalOptions), ...Object.keys(command.options)]
  if (isOptionName(name) && allowed.includes(name)) return name
  const isShort = !rawName.startsWith('--')
  const meant = isShort ? undefined : nearest(name, allowed)
  const hint = isShort ? ' What begins with a dash and is no option goes after --.' : ''
  throw usageFailure(
    `${of} has no option ${rawName}.${didYouMean(meant && `--${meant}`)}${hint} See prestige help ${of}.`,
  )
}

function optionValue({ value, inlineValue }: OptionToken, name: OptionName): string | true {
  const { type, value: placeholder = '', choices, isValueOptional }: OptionForm = optionForms[name]
  if (isValueOptional) return value ?? true
  if (type === 'boolean') {
    if (value !== undefined) throw usageFailure(`--${name} takes no value.`)
    return true
  }
  if (value === undefined) throw usageFailure(`--${name} needs a value: --${name} ${placeholder}.`)
  // A lone dash is no option but stands for stdin.
  if (inlineValue === false && value.startsWith('-') && value !== '-') {
    throw usageFailure(`--${name} needs a value. If "${value}" is meant, say --${name}=${value}`)
  }
  if (choices && !choices.includes(value)) {
    const meant = didYouMean(nearest(value, choices))
    throw usageFailure(`--${name} is one of ${choices.join(', ')}; not "${value}".${meant}`)
  }
  return value
}

function checkOperands(name: CommandName, command: Command, operands: readonly string[]): void {
  const usage = `Usage: prestige ${name} ${command.operands}`.trimEnd()
  if (operands.length < command.operandsMin) {
    throw usageFailure(`${name} needs ${command.operands}. ${usage}`)
  }
  const tooMuch = operands[command.operandsMax]
  if (tooMuch !== undefined) {
    throw usageFailure(`"${tooMuch}" is one argument too many; quote what has spaces. ${usage}`)
  }
}

function didYouMean(name: string | undefined): string {
  return name ? ` Did you mean "${name}"?` : ''
}
