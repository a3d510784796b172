/** The process of one run: is told which side of which case to run and where, and sends what it measured. */

import type { Place, Sample } from './bench.ts'
import { loadBench } from './bench.ts'

export interface Errand {
  readonly bench: string
  readonly case: string
  readonly side: 'ours' | 'reference'
  /** `build` makes the side's fixture; `run` measures. */
  readonly what: 'build' | 'run'
  readonly place: Place
}

export type Answer = { readonly sample: Sample | undefined } | { readonly error: string }

async function run(errand: Errand): Promise<Sample | undefined> {
  const bench = await loadBench(errand.bench)
  const found = bench.cases.find(({ name }) => name === errand.case)
  if (found === undefined) throw new Error(`${errand.bench} has no case ${errand.case}.`)
  const side = found[errand.side]
  if (errand.what === 'run') return side.run(errand.place)
  await side.fixture?.build(errand.place)
  return undefined
}

async function answer(errand: Errand): Promise<Answer> {
  try {
    return { sample: await run(errand) }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

process.once('message', (errand: Errand) => {
  void answer(errand).then((found) => process.send?.(found, () => process.disconnect()))
})
