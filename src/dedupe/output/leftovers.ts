/**
 * Files that a run which was killed had begun to write aside. Only names that the outputs of the run would have had
 * while they were written: whatever else lies there is not ours.
 */

import { sep } from 'node:path'

import { targetOf } from '../../platform/atomic-file.ts'
import { readdir, rm } from '../../platform/files.ts'
import { join } from '../../platform/paths.ts'
import { isS3 } from '../../platform/s3/address.ts'
import type { Shard } from '../../input/index.ts'
import { OUTPUTS_FILE, PASSAGES_FILE, RECORDS, RUNS_FOLDER } from './records.ts'

const OWN: ReadonlySet<string> = new Set([
  ...RECORDS,
  OUTPUTS_FILE,
  PASSAGES_FILE,
  'report.html',
  'report.json',
])

export async function removeLeftovers(
  out: string,
  shards: readonly Shard[],
  run: string,
): Promise<void> {
  // There, nothing is written aside.
  if (isS3(out)) return
  const kept = new Set<string>()
  for (const shard of shards) {
    for (const { path } of shard.files ?? [shard]) {
      kept.add(path)
      kept.add(path.replace(/\.(?:gz|zst)$/, ''))
    }
  }
  for (const directory of [out, join(out, RUNS_FOLDER, run)]) {
    await removeAside(directory, (name) => OWN.has(name), false)
  }
  await removeAside(join(out, 'kept'), (name) => kept.has(name), true)
}

async function removeAside(
  directory: string,
  isOurs: (name: string) => boolean,
  recursive: boolean,
): Promise<void> {
  const names = await readdir(directory, { recursive }).catch(() => [])
  for (const name of names) {
    const whole = targetOf(name.split(sep).join('/'))
    if (whole !== undefined && isOurs(whole)) await rm(join(directory, name), { force: true })
  }
}
