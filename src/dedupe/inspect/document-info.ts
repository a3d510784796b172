/** A document of a state, with what is known of it: what all that explains decisions names documents by. */

import type { Backend } from '../../backends/index.ts'
import type { DocumentRow } from '../rows.ts'
import { hex } from '../names.ts'
import type { Named } from '../decision/decision.ts'
import { documentsOfIds, type StoredDocument } from './find-documents.ts'
import { type FoundText, textsOf } from './texts.ts'

/** `linked` documents are kept too. */
export type DocumentStatus = 'kept' | 'linked' | 'dropped' | 'superseded'

export interface DocumentInfo extends Named {
  /** Identifies it among documents of the same id and source. */
  readonly key: string
  readonly status: DocumentStatus
  /** The run that decided about it. */
  readonly run: string
  /** Milliseconds since 1970: since when it has this status. */
  readonly at?: number
  /** Of its text. */
  readonly bytes: number
  readonly time?: number
  readonly quality?: number
  readonly type?: string
  /** Where it was read from, as its run names the file. */
  readonly file?: string
  /** The line or row, from 1. */
  readonly line?: number
  /** What `line` counts, where that is not lines: elements of a JSON array, or rows of Parquet. */
  readonly unit?: 'element' | 'row'
  readonly text?: string
  /** Why there is no text. */
  readonly missing?: string
}

const STATUS_OF = {
  keep: 'kept',
  link: 'linked',
  drop: 'dropped',
  superseded: 'superseded',
} as const satisfies Record<DocumentRow['action'], DocumentStatus>

export function infoOf({ key, row }: StoredDocument, found?: FoundText): DocumentInfo {
  const { id, source, run, at, bytes, time, quality, type } = row
  return {
    id,
    source,
    key: hex(key),
    status: STATUS_OF[row.action],
    run,
    ...(at > 0 && { at }),
    bytes,
    ...(time !== undefined && { time }),
    ...(quality !== undefined && { quality }),
    ...(type !== undefined && { type }),
    ...found?.place,
    ...(found?.text !== undefined && { text: found.text }),
    ...(found?.missing !== undefined && { missing: found.missing }),
  }
}

export interface DocumentFilter {
  /** The file it was read from, as its run names it, or any longer or shorter path with the same end. */
  readonly file?: string | undefined
  /** The line, element or row of the file, from 1. */
  readonly line?: number | undefined
}

/** All documents of an id, with their texts. */
export async function documentsOf(
  backend: Backend,
  id: string,
  filter: DocumentFilter = {},
): Promise<DocumentInfo[]> {
  const { stored, texts } = await storedOf(backend, id, filter)
  return stored.map((one) => infoOf(one, texts.get(hex(one.key))))
}

/** The same as they are stored. */
export async function storedOf(
  backend: Backend,
  id: string,
  { file, line }: DocumentFilter,
): Promise<{ readonly stored: StoredDocument[]; readonly texts: Map<string, FoundText> }> {
  const all = await documentsOfIds(backend, new Set([id]))
  const texts = await textsOf(backend, all)
  const isWanted = ({ key }: StoredDocument) => {
    const { place } = texts.get(hex(key)) ?? {}
    const isThere = line === undefined || place?.line === line
    return isThere && (file === undefined || isSameFile(file, place?.file))
  }
  return { stored: all.filter(isWanted), texts }
}

/** Runs name files below the root of their inputs, and people as they typed them. */
export function isSameFile(asked: string, known: string | undefined): boolean {
  if (known === undefined) return false
  return asked === known || asked.endsWith(`/${known}`) || known.endsWith(`/${asked}`)
}
