/**
 * Reads the arguments of a call by the tables in declarations/, and answers mistakes with what may be meant. An option
 * that would have no effect on the command is refused.
 */

import { parseArgs } from 'node:util'

import {
  type Command,
  type CommandName,
  commands,
  type Condition,
  globalOptions,
  isCommandName,
  isOptionName,
  type OptionForm,
  optionForms,
  type OptionName,
} from '../declarations/index.ts'
import { usageFailure } from './failure.ts'
import { Invocation, type OptionValues } from './invocation.ts'
import { nearest } from '../../platform/did-you-mean.ts'
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
    args: withHyphens(args),
    options: optionForms,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const [typed, ...operands] = given.positionals
  const name = commandName(typed)
  const command: Command = commands[name]
  const values: Partial<Record<OptionName, string | true>> = {}
  const names: Partial<Record<OptionName, string>> = {}
  for (const [at, token] of given.tokens.entries()) {
    if (token.kind !== 'option') continue
    const called = optionName(token, name, command)
    const option = command.aliases?.[called] ?? called
    const value = optionValue(token, called)
    refuseTwice(token.rawName, value, names[option], values[option])
    values[option] = value
    names[option] = token.rawName
    if (value === true) refuseDetachedValue(called, given.tokens[at + 1])
  }
  checkOperands(name, command, operands)
  for (const condition of command.only ?? []) requireEffect(name, operands, values, condition)
  return new Invocation(name, operands, values, signal, names)
}

/** `--num_perm` is `--num-perm`, as in tools whose options are names of variables. */
function withHyphens(args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length
  return args.map((arg, at) => {
    const name = at < end ? /^--([a-z]+(?:_[a-z]+)+)(?==|$)/.exec(arg)?.[1] : undefined
    const meant = name?.replaceAll('_', '-')
    return meant !== undefined && isOptionName(meant) ? arg.replace(name ?? '', meant) : arg
  })
}

function refuseTwice(
  typed: string,
  value: string | true,
  typedBefore: string | undefined,
  before: string | true | undefined,
): void {
  if (before === undefined || (before === true && value === true)) return
  const [one, other] = [shownOption(typedBefore ?? typed, before), shownOption(typed, value)]
  const same = typedBefore === typed ? 'is given twice' : 'are the same option'
  const which = typedBefore === typed ? typed : `${typedBefore} and ${typed}`
  throw usageFailure(`${which} ${same}: ${one}, ${other}. Give only one; a list has commas.`)
}

function shownOption(name: string, value: string | true): string {
  return value === true ? name : `${name} ${value}`
}

/**
 * Node decodes arguments as UTF-8 and puts U+FFFD where it cannot: two different keys would become one. A
 * true U+FFFD cannot be distinguished from that, and has another way in.
 */
function refuseReplaced(args: readonly string[]): void {
  const bad = args.find((arg) => arg.includes('\ufffd'))
  if (bad === undefined) return
  throw usageFailure(
    `The argument "${bad}" is not valid UTF-8, or contains U+FFFD. Write such keys with -e and \\xHH ` +
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
  const { shared = [], options, instead } = command
  const own = [...Object.keys(options), ...Object.keys(command.aliases ?? {})]
  const allowed = [...Object.keys(globalOptions), ...shared, ...own]
  if (isOptionName(name) && allowed.includes(name)) return name
  const better = instead && Object.hasOwn(instead, name) ? instead[name] : undefined
  if (better !== undefined) throw usageFailure(`${of} has no option ${rawName}. ${better}`)
  const isShort = !rawName.startsWith('--')
  const meant = isShort ? undefined : nearest(name, allowed)
  const hint = isShort ? ' Put operands that begin with a dash after --.' : ''
  throw usageFailure(
    `${of} has no option ${rawName}.${didYouMean(meant && `--${meant}`)}${hint} See prestige help ${of}.`,
  )
}

function optionValue(
  { value, inlineValue, rawName }: OptionToken,
  name: OptionName,
): string | true {
  const { type, value: placeholder = '', choices, isValueOptional }: OptionForm = optionForms[name]
  if (isValueOptional) return value ?? true
  if (type === 'boolean') {
    if (value !== undefined) throw usageFailure(`${rawName} takes no value.`)
    return true
  }
  if (value === undefined)
    throw usageFailure(`${rawName} needs a value: ${rawName} ${placeholder}.`)
  // A lone dash is not an option: it means stdin.
  if (inlineValue === false && value.startsWith('-') && value !== '-') {
    throw usageFailure(
      `${rawName} needs a value. If "${value}" is the value, write --${name}=${value}.`,
    )
  }
  if (choices && !choices.includes(value)) {
    const meant = didYouMean(nearest(value, choices))
    throw usageFailure(`${rawName} must be one of ${choices.join(', ')}, not "${value}".${meant}`)
  }
  return value
}

/** `--plan plan.jsonl` would take the file as an input. */
function refuseDetachedValue(
  name: OptionName,
  next: { readonly kind: string; readonly value?: string | undefined } | undefined,
): void {
  const { isValueOptional, value: placeholder }: OptionForm = optionForms[name]
  if (!isValueOptional || next?.kind !== 'positional') return
  throw usageFailure(
    `--${name} ${next.value} can be read in two ways. Write --${name}=${next.value} if ${next.value} is the ${placeholder}, or put --${name} last if ${next.value} is an operand.`,
  )
}

function requireEffect(
  name: CommandName,
  operands: readonly string[],
  values: OptionValues,
  { of, hint, with: needed, without = [], operands: count, first }: Condition,
): void {
  const option = of.find((one) => values[one] !== undefined)
  if (option === undefined) return
  const fail = (why: string) =>
    usageFailure(`--${option} has no effect ${why}. ${hint ?? `See prestige help ${name}.`}`)
  if (needed !== undefined && values[needed] === undefined) throw fail(`without --${needed}`)
  const against = without.find((one) => values[one] !== undefined)
  if (against !== undefined) throw fail(`with --${against}`)
  const [what = ''] = operands
  if (count !== undefined && operands.length !== count) {
    throw fail(`with ${operands.length === 1 ? 'one operand' : `${operands.length} operands`}`)
  }
  if (first && !first.includes(what)) throw fail(`with ${name} ${what}`)
}

function checkOperands(name: CommandName, command: Command, operands: readonly string[]): void {
  const usage = `Usage: prestige ${name} ${command.operands}`.trimEnd()
  if (operands.length < command.operandsMin) {
    throw usageFailure(`${name} needs ${command.operands}. ${usage}`)
  }
  const tooMuch = operands[command.operandsMax]
  if (tooMuch !== undefined) {
    throw usageFailure(
      `"${tooMuch}" is one argument too many; quote arguments that have spaces. ${usage}`,
    )
  }
}

function didYouMean(name: string | undefined): string {
  return name ? ` Did you mean "${name}"?` : ''
}
