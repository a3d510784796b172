/**
 * Whether the outputs can go where they are asked for: found out before the work, not after it, and without a trace.
 * What lies there and was not written by a run is never written over.
 */

import { access, constants } from 'node:fs/promises'

import { outputFailure, requireMakeable } from '../../platform/atomic-file.ts'
import { codeOf, PrestigeError } from '../../platform/errors.ts'
import { exists, readFile, stat } from '../../platform/files.ts'
import { join, resolve } from '../../platform/paths.ts'
import { isS3 } from '../../platform/s3/address.ts'
import { isRaw } from '../config/raw.ts'
import { RECORDS } from './records.ts'

const OUTPUTS = ['kept', ...RECORDS] as const

/** Stands in a directory of outputs that no state knows of, from the first of them to the last. */
export const UNFINISHED = '.unfinished'

/** `isKnown`: a run of the state has published there, or was about to. */
export async function requireTarget(out: string, isKnown: boolean): Promise<void> {
  await requireWritable(resolve(out))
  if (isKnown || (await exists(join(out, UNFINISHED))) || (await hasManifest(out))) return
  for (const name of OUTPUTS) {
    if (!(await exists(join(out, name)))) continue
    throw new PrestigeError(
      'TARGET_NOT_EMPTY',
      `${join(out, name)} is there already, and no run of this state has written it. Name another directory, or take it away.`,
    )
  }
}

/** The directory, or where it is not there yet, whether it can be made. */
async function requireWritable(path: string): Promise<void> {
  if (isS3(path)) return (await import('../../platform/s3/upload.ts')).requireWritable(path)
  try {
    const found = await stat(path)
    if (!found.isDirectory()) throw new PrestigeError('OUTPUT_FAILED', `${path} is no directory.`)
    await access(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw outputFailure(path, error)
    await requireMakeable(path).catch((why: unknown) => {
      throw outputFailure(path, why)
    })
  }
}

/** Whether a job has written its manifest there. */
async function hasManifest(out: string): Promise<boolean> {
  try {
    const found: unknown = JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8'))
    return isRaw(found) && found['format'] === 1 && isRaw(found['config'])
  } catch {
    return false
  }
}
