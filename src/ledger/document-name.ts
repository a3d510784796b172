/** How a caller names a document: by its id, or by its source and its id. */

import { PrestigeError } from '../platform/errors.ts'
import { refuseUnknown, sourceName } from './names.ts'

export type DocumentName = string | SourceAndId

interface SourceAndId {
  readonly source?: string | undefined
  readonly id: string
}

export function nameOf(which: DocumentName): SourceAndId {
  if (typeof which !== 'object' || which === null) return { id: which }
  refuseUnknown(which, ['source', 'id'])
  if (which.source !== undefined) sourceName(which.source)
  return which
}

export function ambiguous({ id, source }: SourceAndId): PrestigeError {
  const which = source === undefined ? '' : ` in source ${JSON.stringify(source)}`
  const hint = source === undefined ? 'Give { source, id }, or ask' : 'Ask'
  return new PrestigeError(
    'INVALID_KEY',
    `Several documents have the id ${JSON.stringify(id)}${which}. ${hint} for all of them with lines().`,
  )
}
