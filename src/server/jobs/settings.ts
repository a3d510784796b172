/** Settings of a run as a request has them. Those that name places on the server's disk are not for callers. */

import {
  commandNames,
  type JobConfig,
  type Layer,
  namedLayer,
  readJobConfig,
  type Said,
  saidIn,
} from '../../dedupe/index.ts'
import { HttpProblem } from '../http/problem.ts'

/** Of the server, not of a caller. */
const OWN: ReadonlySet<string> = new Set([
  ...commandNames,
  'memory',
  'input.root',
  'input.followSymlinks',
  'input.shardBytes',
  'input.expansionMax',
])

export type SettingsInput =
  | { readonly query: Readonly<Record<string, string>> }
  | { readonly settings: Readonly<Record<string, unknown>> }

export function readSettings(input: SettingsInput): JobConfig {
  const layer: Layer =
    'query' in input
      ? namedLayer('The query', input.query)
      : { from: 'settings', values: input.settings }
  const config = readJobConfig([layer])
  // As it was understood: a setting may have been spelt in another way.
  requireOwn(config.given, '')
  const { model } = config.config.semantic
  if (/[/\\]|^\.+$/.test(model))
    throw new HttpProblem('FORBIDDEN', 'semantic.model: only a model of prestige models, by name.')
  return config
}

function requireOwn(values: object, above: string): void {
  for (const [name, value] of Object.entries(values)) {
    const path = `${above}${name}`
    if (OWN.has(path))
      throw new HttpProblem('FORBIDDEN', `${path} is for the server to say: leave it out.`)
    if (path === 'input' && typeof value === 'object' && value !== null) requireOwn(value, 'input.')
  }
}

const COMMAND_LENGTH_MAX = 1000

/** What was asked for, in the words in which it is asked for again. */
export function saidBy(config: JobConfig, body: object): Said {
  const text = JSON.stringify(body)
  const shown = text.length > COMMAND_LENGTH_MAX ? `${text.slice(0, COMMAND_LENGTH_MAX)}…` : text
  const again = JSON.stringify({ ...body, again: true })
  return {
    ...saidIn(config),
    command: `POST /api/v1/runs ${shown}`,
    commandAgain: `POST /api/v1/runs ${again.length > COMMAND_LENGTH_MAX ? '{…, "again": true}' : again}`,
    commandOther: 'prestige serve --jobs OTHER',
  }
}
