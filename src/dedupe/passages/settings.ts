/** What a run was asked to do with passages that many documents share. */

import { PrestigeError } from '../../platform/errors.ts'
import type { DedupeConfig } from '../config/options.ts'

export type PassageSettings = DedupeConfig['passages']

const OFF = { action: 'off', documentsMin: 10, wordsMin: 12, by: 'words' } as const

export function passageSettings({ config }: { readonly config: DedupeConfig }): PassageSettings {
  // Runs from before there was such a step have no such settings.
  return config.passages ?? OFF
}

/** Passages are found among the documents that a whole run keeps: `what` has no such run. */
export function requireNoPassages(config: DedupeConfig, what: string): void {
  if (passageSettings({ config }).action === 'off') return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `passages: ${what} cannot list or cut them, because they are counted when a whole run is published. Set passages.action to off, or process the documents as a job.`,
  )
}
