/**
 * Verification: reads everything, recomputes digests, references and tallies, says what is wrong and, where
 * asked to, mends what can be mended. Works beside any number of readers, writers and collectors.
 *
 * Memory is bounded by the largest value, not by the number of rows. The order of the steps matters when
 * mending: keys before references before contents, so that no content is called unused, and removed, while
 * something that should point at it does not yet; forms and near duplicates after the digests that have them;
 * tallies last.
 *
 * What it cannot see: with `fidelity: 'representative'` older versions kept the digest of the canonical form
 * alone, so a change of such a content that the canonical form ignores leaves no trace.
 */

import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { type Counts, readCounts } from '../tallies.ts'
import { checkChanges } from './changes.ts'
import { walkChunks } from './chunks.ts'
import { walkContents } from './contents.ts'
import { walkDeltas } from './deltas.ts'
import { DigestSums } from './digest-sums.ts'
import { walkDigests } from './digests.ts'
import { walkEntries } from './entries.ts'
import { walkForms, walkMembers } from './forms.ts'
import {
  walkExpiries,
  walkReferences,
  walkReleased,
  walkSimilarities,
  walkStaged,
} from './leftovers.ts'
import { walkLifecycle } from './lifecycle.ts'
import { checkNear } from './near.ts'
import type { VerifyHow, VerifyOptions, VerifyReport } from './report.ts'
import { compareStored, compareTallies } from './tallies.ts'
import { Unlisted } from './unlisted.ts'
import { Walk } from './walk.ts'

export type { Problem, ProblemKind, VerifyHow, VerifyOptions, VerifyReport } from './report.ts'

export async function verify(
  backend: Backend,
  how: VerifyHow,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const walk = new Walk(backend, how, options)
  noteWhatCannotBeChecked(walk)
  const confirmed = new DigestSums()
  const unlisted = new Unlisted()
  let before: Counts | undefined
  await walk.step('tallies', async () => {
    before = await backend.read(readCounts)
  })
  await walk.step('entries', () => walkEntries(walk))
  await walk.step('refs', () => walkReferences(walk))
  await walk.step('chunks', () => walkChunks(walk))
  await walk.step('deltas', () => walkDeltas(walk))
  await walk.step('contents', () => walkContents(walk, confirmed, unlisted))
  await walk.step('digests', () => walkDigests(walk, confirmed, unlisted.claim))
  await walk.step('contents', () => unlisted.settle(walk))
  await walk.step('members', () => walkMembers(walk))
  await walk.step('forms', () => walkForms(walk))
  await walk.step('expiries', () => walkExpiries(walk))
  await walk.step('released', () => walkReleased(walk))
  await walk.step('staged', () => walkStaged(walk))
  if (how.tracking?.isOn) await walk.step('uses', () => walkLifecycle(walk))
  await walk.step('near', () => checkNear(walk))
  const { near, semantic } = how
  if (semantic) {
    const { checkSemantic } = await import('./semantic.ts')
    await walk.step('semantic', () => checkSemantic(walk, semantic))
  }
  if (near ?? semantic) await walk.step('refs', () => walkSimilarities(walk))
  if (how.changes) await walk.step('changes', () => checkChanges(walk))
  const tallies = before
  if (tallies) await walk.step('tallies', () => compareTallies(walk, tallies))
  if (how.layout.chunks) await walk.step('tallies', () => compareStored(walk))
  walk.tellProgress()
  return reportOf(walk)
}

function noteWhatCannotBeChecked({ how, findings }: Walk): void {
  if (how.profile !== undefined) return
  if (!how.sharesForms) {
    findings.note('Canonical forms were not computed again: the canonical function was not given.')
    return
  }
  throw new PrestigeError(
    'SETTINGS_MISMATCH',
    'This store was written with a canonical function, and its contents are known by what it returns. Give the same function when opening the store to verify it.',
  )
}

function reportOf({ counts, findings }: Walk): VerifyReport {
  const { keys, contents, contentBytes } = counts
  const { unfinishedUploads, problems, problemCount, notes, isSound } = findings
  return {
    keys,
    contents,
    contentBytes,
    unfinishedUploads,
    problems,
    problemCount,
    notes,
    isSound,
  }
}
