/** The config as people read it: a commented file to begin with, and the reference in the docs. */

import { environmentName, jobSchema } from './job-config.ts'
import { fieldsOf, type SchemaField } from './schema-fields.ts'

const WIDTH = 96

/** A YAML file with every setting, its description and its default. */
export function configYaml(): string {
  const lines = [
    '# Settings of prestige dedupe. The values below are the defaults: change or delete them.',
    '# Settings without a default are commented out.',
    '',
  ]
  let section: readonly string[] = []
  for (const field of fieldsOf(jobSchema)) {
    const above = field.path.slice(0, -1)
    above.forEach((name, depth) => {
      if (section[depth] !== name) lines.push(`${'  '.repeat(depth)}${name}:`)
    })
    section = above
    const indent = '  '.repeat(above.length)
    for (const line of wrapped(sentenceOf(field), WIDTH - indent.length)) {
      lines.push(`${indent}# ${line}`)
    }
    const { fallback } = field
    const isSet = fallback !== undefined
    lines.push(
      `${indent}${isSet ? '' : '# '}${field.path.at(-1)}:${isSet ? ` ${scalar(fallback)}` : ''}`,
    )
    if (above.length === 0) lines.push('')
  }
  return `${lines.join('\n').trimEnd()}\n`
}

function sentenceOf({ help, choices, kind }: SchemaField): string {
  if (!choices) return help
  const list = choices.join(', ')
  return kind === 'list' ? `${help} A list of: ${list}.` : `${help} One of ${list}.`
}

function scalar(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(scalar).join(', ')}]` : String(value)
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (last !== '' && last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}

/** The table of settings in docs/config.md. */
export function configTable(): string {
  const rows = fieldsOf(jobSchema).map((field) => {
    const { path, fallback } = field
    const shown = fallback === undefined ? '' : `\`${scalar(fallback)}\``
    const text = sentenceOf(field).replaceAll('|', '\\|')
    return `| \`${path.join('.')}\` | ${shown} | ${text} | \`${environmentName(field)}\` |`
  })
  return [
    '| Setting | Default | What it does | Environment |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}
