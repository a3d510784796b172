/**
 * `fingerprint INPUT... -o FILE`: digests, signatures and band keys of documents as columns of a Parquet file.
 *
 * Input that is no document is no failure, unless there is nothing else: it is counted, and the first is shown.
 */

import { writeSketches } from '../../dedupe/index.ts'
import { listShards } from '../../input/index.ts'
import { harmless } from '../../platform/harmless.ts'
import { EXIT_FAILED, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { versionOf } from '../../platform/version.ts'
import { inputBytes } from '../dedupe/dedupe-input.ts'
import { settingsOf } from '../dedupe/dedupe-settings.ts'
import { print, printJson, tell } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { countOf } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const out = outOf(invocation)
  const { config, listing, reading, strict } = await settingsOf(invocation)
  const { operands, signal } = invocation
  const listed = await listShards(operands, listing, process.stdin, undefined, signal)
  const progress = Progress.of(invocation, 'document')
  try {
    progress.expect({ bytes: inputBytes(listed.shards) })
    let [documents, bytes] = [0, 0]
    const counts = await writeSketches(listed, out, {
      config,
      reading,
      strict,
      keepsHashes: invocation.text('evidence') === 'hashes',
      version: versionOf(),
      signal,
      onProgress: (count, length) => {
        documents += count
        bytes += length
        progress.reach(documents, bytes)
      },
    })
    progress.end()
    const { firstReject, rejected } = counts
    const skipped = listed.skipped.length
    if (invocation.flag('json')) await printJson({ file: out, ...counts, skipped })
    else if (!invocation.flag('quiet')) {
      await print(
        `${out}: ${countOf(counts.documents, 'document')}, ${countOf(counts.rows, 'row')}\n`,
      )
    }
    if (firstReject !== undefined) {
      tell(
        `${countOf(rejected, 'piece')} of input ${rejected === 1 ? 'is' : 'are'} not a document: ${harmless(firstReject)}\n`,
      )
    }
    return counts.documents === 0 && rejected > 0 ? EXIT_FAILED : 0
  } finally {
    progress.end()
    await listed.close()
  }
}

function outOf(invocation: Invocation): string {
  const out = invocation.text('out')
  if (out && out !== '-' && !out.endsWith('/')) return out
  throw usageFailure(
    'fingerprint needs -o FILE, the Parquet file to write: -o sketches.parquet, or -o s3://BUCKET/sketches.parquet.',
  )
}
