/** Help, made from the table in commands.ts. */

import {
  type Command,
  type CommandName,
  commands,
  globalOptions,
  isCommandName,
  type OptionForm,
  optionForms,
  type OptionHelp,
  isOptionName,
} from './declarations/index.ts'
import { usageFailure } from './failure.ts'
import { paint, print, tell } from './output.ts'
import { suggestCommand } from './suggest.ts'
import { table } from './table.ts'

const EXIT_CODES = [
  ['0', 'done'],
  ['1', 'failed, or failed in part'],
  ['2', 'a mistake in the call or in the input'],
  ['3', 'no such key, store or file'],
  ['4', 'the store is damaged'],
  ['130', 'stopped by Ctrl-C, the store closed properly'],
]

/** `prestige`, `prestige help [COMMAND]`, `prestige --help`, `prestige COMMAND --help`. */
export async function help(args: readonly string[]): Promise<number> {
  if (args.length === 0) {
    tell(overview())
    return 2
  }
  const [topic] = args[0] === 'help' ? args.slice(1).filter(isWord) : args.filter(isCommandName)
  await print(topic === undefined || topic === 'help' ? overview() : commandHelp(topic))
  return 0
}

function isWord(arg: string): boolean {
  return !arg.startsWith('-')
}

function overview(): string {
  const list = Object.entries<Command>(commands).map(([name, { operands, summary }]) => [
    `${name} ${operands}`.trimEnd(),
    summary,
  ])
  return [
    'prestige keeps one copy of everything you give it, and tells you what it has seen before.\n',
    section('Usage', '  prestige COMMAND [ARGUMENTS] [OPTIONS]\n'),
    section('Commands', table(list, ['left', 'left'])),
    section('Options of every command', optionTable(globalOptions)),
    'A new store has canonical none and fidelity own unless told otherwise, and remembers it.\n',
    section('Exit codes', table(EXIT_CODES, ['right', 'left'])),
    section(
      'Examples',
      lines(['export PRESTIGE_STORE=./store', 'prestige put greeting hello', 'prestige stats']),
    ),
    'Details and examples of a command: prestige help COMMAND.\n',
  ].join('\n')
}

function commandHelp(topic: string): string {
  if (!isCommandName(topic)) {
    const meant = suggestCommand(topic)
    throw usageFailure(`There is no command "${topic}".${meant ? ` Did you mean "${meant}"?` : ''}`)
  }
  const command: Command = commands[topic]
  const { summary, details = [], options, examples } = command
  return [
    `${summary}\n`,
    section('Usage', `  ${usageOf(topic, command)}\n`),
    ...(details.length > 0 ? [`${details.join('\n')}\n`] : []),
    ...(Object.keys(options).length > 0 ? [section('Options', optionTable(options))] : []),
    section('Examples', lines(examples)),
    'Options of every command (--store, --json, …): prestige help.\n',
  ].join('\n')
}

function usageOf(name: CommandName, { operands, options }: Command): string {
  const choice = Object.keys(options).length > 0 ? ' [OPTIONS]' : ''
  return `prestige ${name} ${operands}`.trimEnd() + choice
}

function optionTable(options: OptionHelp): string {
  const rows = Object.entries(options).map(([name, text]) => [optionName(name), text])
  return table(rows, ['left', 'left'])
}

function optionName(name: string): string {
  const { short, value, isValueOptional }: OptionForm = isOptionName(name)
    ? optionForms[name]
    : { type: 'boolean' }
  const shown = value && (isValueOptional ? `[=${value}]` : ` ${value}`)
  return `${short ? `-${short}, ` : '    '}--${name}${shown ?? ''}`
}

function section(title: string, body: string): string {
  return `${paint('bold', title)}\n${body}`
}

function lines(examples: readonly string[]): string {
  return examples.map((example) => `  ${example}\n`).join('')
}
