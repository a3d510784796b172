/** What a ledger was written with: the number of its format, and whether it is that of a corpus job. */

import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { readRecorded } from '../platform/settings.ts'
import { runs, settings } from './rows.ts'

/** Of a ledger by itself, and of the state of a corpus job. */
const FORMAT_VERSION = 1
export const JOB_FORMAT_VERSION = 2
const SETTINGS = cell(settings, Buffer.from('ledger'))

export interface LedgerSettings {
  readonly format: number
  /** Documents are kept under keys of format 1 as well. */
  readonly hasOldKeys?: boolean
  /** What the fingerprints of all documents were made with. */
  readonly fingerprints?: string
}

/** Who writes the lines, and where they are. */
export type LedgerKind = { readonly owner: 'ledger' } | JobLedger

export interface JobLedger {
  readonly owner: 'job'
  readonly hasDocuments: boolean
  readonly hasOldKeys: boolean
  /** What the fingerprints of all documents were made with, where the job has noted it. */
  readonly fingerprints?: string | undefined
}

/** Every line is in the rows of the ledger itself: so it was in states of format 1. */
const JOB_OF_FORMAT_1: LedgerKind = { owner: 'job', hasDocuments: false, hasOldKeys: false }

export async function openSettings(backend: Backend, create = true): Promise<LedgerKind> {
  const found = await backend.read(findSettings)
  if (found !== undefined) return kindOf(found)
  // A state of format 1 has runs, and no settings.
  for await (const _run of backend.scan(runs, { limit: 1 })) return JOB_OF_FORMAT_1
  if (!create)
    throw new PrestigeError(
      'STORE_NOT_FOUND',
      'There is no ledger of this namespace at this location.',
    )
  return kindOf(await backend.run(keepSettings))
}

export function* findSettings(_scope: ReadScope): Transaction<string | undefined> {
  const [found] = yield* read(SETTINGS)
  return found
}

function* keepSettings(scope: Scope): Transaction<string> {
  const [found] = yield* read(SETTINGS)
  const wanted = JSON.stringify({ format: FORMAT_VERSION })
  if (found === undefined) scope.write(SETTINGS, wanted)
  return found ?? wanted
}

/** From here on the lines are documents of the corpus job. */
export function writeJobSettings(scope: Scope, hasOldKeys: boolean): void {
  const wanted: LedgerSettings = { format: JOB_FORMAT_VERSION, ...(hasOldKeys && { hasOldKeys }) }
  scope.write(SETTINGS, JSON.stringify(wanted))
}

/** Notes what fingerprints are made with: states of earlier versions say nothing of it. */
export function* noteFingerprints(scope: Scope, version: string): Transaction<void> {
  const [text] = yield* read(SETTINGS)
  const found = readRecorded('ledger', text ?? '{}', [JOB_FORMAT_VERSION])
  if (found['fingerprints'] === version) return
  scope.write(SETTINGS, JSON.stringify({ ...found, fingerprints: version }))
}

function kindOf(text: string): LedgerKind {
  const found = readRecorded('ledger', text, [FORMAT_VERSION, JOB_FORMAT_VERSION])
  if (found['format'] === FORMAT_VERSION) return { owner: 'ledger' }
  const { hasOldKeys, fingerprints } = found
  return {
    owner: 'job',
    hasDocuments: true,
    hasOldKeys: hasOldKeys === true,
    fingerprints: typeof fingerprints === 'string' ? fingerprints : undefined,
  }
}

export function readOnly(): PrestigeError {
  return new PrestigeError(
    'READ_ONLY',
    'This is the state of a corpus job: only the job writes its lines and runs. To take back a run, use prestige undo; to remove old documents, prestige ledger prune, or prune() of openDedupe; for lines of your own, open a ledger at another location.',
  )
}
