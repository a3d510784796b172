/** Outputs of runs that were redone, and that the run which redoes them does not write. */

import { rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import type { Backend } from '../../backends/index.ts'
import { outputFailure } from '../../platform/atomic-file.ts'
import { outputLines } from '../output/output-names.ts'
import { findRun, type RunRow } from '../runs.ts'
import type { Outcome } from './outcome.ts'

/** Deletes them once all others are in place: of inputs that are a file a document, those that are not kept any more. */
export async function removeFormerOutputs(
  backend: Backend,
  run: RunRow,
  outcome: Outcome,
): Promise<void> {
  const wanted = new Set<string>()
  for (const shard of run.shards) {
    const positions = shard.files && new Set(outcome.kept(shard.index))
    const files = shard.files?.filter((_, at) => positions?.has(at))
    for (const { output } of outputLines({ shards: [{ ...shard, ...(files && { files }) }] })) {
      wanted.add(output)
    }
  }
  for (const id of run.redoes ?? []) {
    for (const { output } of outputLines(await findRun(backend, id))) {
      if (!wanted.has(output)) await removeOutput(run.out, output)
    }
  }
}

/** Directories that are empty then are removed too. */
async function removeOutput(out: string, output: string): Promise<void> {
  const path = join(out, output)
  await rm(path, { force: true }).catch((error: unknown) => {
    throw outputFailure(path, error)
  })
  for (let above = dirname(output); above !== '.'; above = dirname(above)) {
    const isEmpty = await rmdir(join(out, above)).then(
      () => true,
      () => false,
    )
    if (!isEmpty) return
  }
}
