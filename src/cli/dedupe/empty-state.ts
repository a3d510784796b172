/**
 * A command that fails leaves no state behind that it has made itself and that holds nothing: else the settings of a
 * mistyped command would be there for the next one to meet.
 */

import { existsSync } from 'node:fs'
import { rm, rmdir } from 'node:fs/promises'

import type { Deduper } from '../../index.ts'
import { isDirectory } from '../../platform/location.ts'

/** Called before the state is opened; what it returns removes the state, if it was not there before. */
export async function emptyStateRemover({
  out,
  state,
}: {
  readonly out: string
  readonly state: string
}): Promise<() => Promise<void>> {
  const isNew = isDirectory(state) && !existsSync(state)
  const isNewOut = !existsSync(out)
  return async () => {
    if (!isNew) return
    await rm(state, { recursive: true, force: true })
    // Only where nothing else is in it.
    if (isNewOut) await rmdir(out).catch(() => undefined)
  }
}

/** No documents, and no run that could be resumed with some, or that another process has just begun. */
export async function holdsNothing({ backend }: Deduper): Promise<boolean> {
  const { holdsDocuments, isOpen, listRuns, pending } = await import('../../dedupe/index.ts')
  if (await holdsDocuments(backend)) return false
  if ((await listRuns(backend)).some(isOpen)) return false
  for await (const _row of backend.scan(pending, { limit: 1 })) return false
  return true
}
