/**
 * How long does the command line take to start, against Node running an empty file? Medians of twenty; each
 * figure is a whole process, from start to exit.
 */

import { writeFile } from 'node:fs/promises'

import { openStore } from 'prestige-dedup'

import type { Bench, Case, Fixture } from './harness/bench.ts'
import { cliMissing, cliPath, timeNode } from './harness/programs.ts'

const fixture: Fixture = {
  name: 'one-key',
  async build({ directory }) {
    const store = await openStore(directory)
    await store.put('key', 'value')
    await store.close()
  },
}

const reference: Case['reference'] = {
  name: 'node empty.mjs',
  async run({ directory }) {
    const empty = `${directory}/empty.mjs`
    await writeFile(empty, '')
    return timeNode([empty])
  },
}

export const bench: Bench = {
  name: 'start',
  question: 'How long does the command line take, against Node running an empty file?',
  skip: cliMissing,
  cases: [
    {
      name: '--help',
      runsMin: 20,
      ours: { run: () => timeNode([cliPath, '--help']) },
      reference,
      limits: { ratioMax: 1.5, wallRatioMax: 1.5 },
    },
    {
      name: 'get',
      runsMin: 20,
      ours: {
        fixture,
        run: ({ directory }) => timeNode([cliPath, 'get', 'key', '--store', directory]),
      },
      reference,
      limits: { ratioMax: 2.5, wallRatioMax: 2.5 },
    },
  ],
}
