/** A small corpus with all that a report tells of, and a run over it. */

import { join } from 'node:path'

import { MemoryBackend } from '../src/backends/memory/backend.ts'
import { readConfig, type DedupeSettings } from '../src/dedupe/config/config.ts'
import { type JobResult, runJob } from '../src/dedupe/job.ts'
import { listShards } from '../src/input/index.ts'
import type { Backend } from '../src/index.ts'
import { directoryWith } from './input-kit.ts'

export const HOSTILE = '<script>console.error("owned")</script>'
/** An attribute that would leave its quotes, and a tag that would run something. */
export const HOSTILE_SOURCE = '"><img src=x onerror=console.error(2)>'

export interface Line {
  readonly id: string
  readonly source: string
  readonly text: string
}

const words = (from: number, count: number, word: string) =>
  Array.from({ length: count }, (_, at) => `${word}${from + at}`).join(' ')

const english = `${words(0, 80, 'alpha')}\n${words(80, 60, 'beta')}`
const arabic = `${words(0, 60, 'مرحبا')} بالعالم`
const chinese = Array.from({ length: 120 }, (_, at) => String.fromCodePoint(0x4e00 + at * 37)).join(
  '',
)

/** In the order in which they come; `web` gives way to `wiki`. */
export const corpus: readonly Line[] = [
  { id: 'web/1', source: 'web', text: english },
  { id: 'wiki/1', source: 'wiki', text: english },
  { id: 'web/2', source: 'web', text: english.replace('alpha9 ', 'changed ') },
  { id: 'web/3', source: 'web', text: english.toUpperCase() },
  { id: 'books/1', source: 'books', text: english.replace('beta99', 'another') },
  { id: 'כתב/1', source: 'עברית', text: arabic },
  { id: 'عربي/2', source: 'عربي', text: `${arabic} ${HOSTILE}` },
  { id: '漢字/1', source: '漢字', text: chinese },
  { id: '漢字/2 👩‍👩‍👧', source: 'web', text: `${chinese}末` },
  { id: HOSTILE, source: HOSTILE_SOURCE, text: `${HOSTILE} ${words(0, 70, 'gamma')}` },
  { id: 'proto', source: '__proto__', text: `${words(0, 70, 'gamma')} ${HOSTILE}` },
  { id: 'built-in', source: 'constructor', text: words(0, 30, 'own') },
]

export interface Ran {
  readonly backend: Backend
  readonly result: JobResult
  readonly directory: string
}

export const reading = { fields: { source: 'source' } }

/** Rejects among them: a line that is no JSON, and one without a text. */
export async function run(
  lines: readonly Line[] = corpus,
  config: DedupeSettings = {},
  backend: Backend = new MemoryBackend(),
): Promise<Ran> {
  const json = lines.map((line) => JSON.stringify(line))
  const directory = directoryWith({ 'corpus.jsonl': `${json.join('\n')}\n{broken\n{"id":"x"}\n` })
  const { shards } = await listShards([join(directory, 'corpus.jsonl')], {})
  const wanted = readConfig({
    keep: ['source', 'first'],
    // A name that no document has would stop the run.
    sourcePriority: ['wiki', 'books', 'web'].filter((name) =>
      lines.some(({ source }) => source === name),
    ),
    near: { threshold: 0.7 },
    ...config,
  })
  const options = { config: wanted, shards, out: join(directory, 'out'), reading }
  return { backend, result: await runJob(backend, options), directory }
}
