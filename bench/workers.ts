/**
 * What do two processes that share a run of the corpus job cost, and gain, against one?
 *
 * `PRESTIGE_CORPUS=FILE` names a corpus of one's own (JSONL with id and text); else one is made, with a copy or near
 * copy of every fifth document. CPU time is that of all processes; a machine with one free core shows no gain.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Bench, Case, Fixture, Place, Sample } from './harness/bench.ts'
import { randomNumbers } from './harness/data.ts'
import { cliMissing, cliPath, timeNode } from './harness/programs.ts'

const DOCUMENTS = 60_000
const FILES = 8
const WORDS = 200

const corpus: string | undefined = process.env['PRESTIGE_CORPUS']

const fixture: Fixture = {
  name: 'corpus',
  async build({ directory, scale }) {
    if (corpus !== undefined) return
    const random = randomNumbers(1)
    const perFile = Math.max(1, Math.round((DOCUMENTS * scale) / FILES))
    for (let file = 0; file < FILES; file++) {
      const lines: string[] = []
      let text = ''
      for (let at = 0; at < perFile; at++) {
        const isCopy = at % 5 === 4
        if (!isCopy)
          text = Array.from({ length: WORDS }, () => random(50_000).toString(36)).join(' ')
        lines.push(JSON.stringify({ id: `${file}-${at}`, text: isCopy ? `${text} again` : text }))
      }
      await writeFile(join(directory, `part-${file}.jsonl`), `${lines.join('\n')}\n`)
    }
  },
}

function dedupe(...options: string[]) {
  return async ({ directory, scale }: Place): Promise<Sample> => {
    const out = join(directory, 'out')
    const input = corpus ?? join(directory, '*.jsonl')
    const sample = await timeNode([cliPath, 'dedupe', input, '-o', out, '--quiet', ...options])
    return corpus === undefined ? { ...sample, ops: Math.round(DOCUMENTS * scale) } : sample
  }
}

function caseOf(name: string, ...options: string[]): Case {
  return {
    name,
    changesFixture: true,
    ours: { fixture, run: dedupe('--workers', '2', '--threads', '0', ...options) },
    reference: {
      name: 'one worker',
      fixture,
      run: dedupe('--workers', '1', '--threads', '0', ...options),
    },
  }
}

export const bench: Bench = {
  name: 'workers',
  question: 'What do two processes that share a run of the corpus job cost, against one?',
  skip: cliMissing,
  cases: [
    caseOf('two workers, as documents come'),
    caseOf('two workers, order-independent', '--order-independent'),
  ],
}
