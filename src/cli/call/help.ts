/** Help, made from the tables in declarations/. */

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
  storeOptions,
} from '../declarations/index.ts'
import { usageFailure } from './failure.ts'
import { paint, print, tell } from '../print/output.ts'
import { suggestCommand } from './suggest.ts'
import { table } from '../print/table.ts'

const EXIT_CODES = [
  ['0', 'success'],
  ['1', 'failed, or failed in part'],
  ['2', 'invalid arguments, settings or input'],
  ['3', 'no such key, store or file'],
  ['4', 'the store is damaged'],
  ['130', 'interrupted by Ctrl-C (143: by SIGTERM); the store was closed properly'],
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
    'prestige stores values without duplicates, and deduplicates text corpora.\n',
    section('Usage', '  prestige COMMAND [ARGUMENTS] [OPTIONS]\n'),
    section('Commands', table(list, ['left', 'left'])),
    section('Options of every command', optionTable(globalOptions)),
    section('Options of commands that use a store', optionTable(storeOptions)),
    'A command takes only options that have an effect on it; its help lists them. A store keeps the\nsettings of its first put: by default canonical none, dedup exact and fidelity own.\n',
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
  const { summary, details = [], shared = [], options, placeholders, examples } = command
  const others = [...shared.filter((name) => !Object.hasOwn(options, name)), 'json']
  const also = wrapped(others.map((name) => `--${name}`))
  return [
    `${summary}\n`,
    section('Usage', `  ${usageOf(topic, command)}\n`),
    ...(details.length > 0 ? [`${details.join('\n')}\n`] : []),
    ...(Object.keys(options).length > 0
      ? [section('Options', optionTable(options, placeholders))]
      : []),
    section('Examples', lines(examples)),
    `Other options, described by prestige help:\n${lines(also)}`,
  ].join('\n')
}

function usageOf(name: CommandName, { operands, options, shared = [] }: Command): string {
  const choice = Object.keys(options).length + shared.length > 0 ? ' [OPTIONS]' : ''
  return `prestige ${name} ${operands}`.trimEnd() + choice
}

function optionTable(options: OptionHelp, placeholders: OptionHelp = {}): string {
  const rows = Object.entries(options).map(([name, text]) => [
    optionName(name, Object.entries(placeholders).find(([one]) => one === name)?.[1]),
    text,
  ])
  return table(rows, ['left', 'left'])
}

function optionName(name: string, placeholder?: string): string {
  const form: OptionForm = isOptionName(name) ? optionForms[name] : { type: 'boolean' }
  const { short, value = form.value, isValueOptional } = { ...form, value: placeholder }
  const shown = value && (isValueOptional ? `[=${value}]` : ` ${value}`)
  return `${short ? `-${short}, ` : '    '}--${name}${shown ?? ''}`
}

function section(title: string, body: string): string {
  return `${paint('bold', title)}\n${body}`
}

const WIDTH = 90

function wrapped(words: readonly string[]): string[] {
  const all: string[] = []
  for (const word of words) {
    const last = all.at(-1)
    if (last === undefined || last.length + word.length >= WIDTH) all.push(word)
    else all[all.length - 1] = `${last} ${word}`
  }
  return all
}

function lines(examples: readonly string[]): string {
  return examples.map((example) => `  ${example}\n`).join('')
}
