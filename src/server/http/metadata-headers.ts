/**
 * Metadata of a key as headers: NAME is Prestige-Meta-NAME, whose text is percent-encoded where it is not printable ASCII,
 * and `content-type` is Content-Type as well. Prestige-Meta-Content-Type is only the type that was put: Content-Type may be
 * one that the client has not chosen, or that the server has.
 */

import { headerText } from '../../platform/value-text.ts'
import type { Metadata } from '../../store/index.ts'
import { HttpProblem } from './problem.ts'

const PREFIX = 'prestige-meta-'
const TYPE = /^[\w.+-]+\/[\w.+-]+ *(?:;[\x20-\x7e]*)?$/
/** What clients send if nobody has said a type. */
const UNSPECIFIC = /^application\/(?:octet-stream|x-www-form-urlencoded)\b/i
/** What is stored must not run in a page of this server, whatever type it was given. */
const RUNNING = /^(?:script|style|xslt|embed|object|\w*worker|\w*worklet)$/

/** `isUnwrapped`: the type is that of what the value was sent in. */
export function sentMetadata({ headers }: Request, isUnwrapped: boolean): { metadata?: Metadata } {
  const metadata: Record<string, string> = {}
  for (const name of headers.keys()) {
    if (!name.startsWith(PREFIX)) continue
    metadata[name.slice(PREFIX.length)] = sentText(name, headers.get(name) ?? '')
  }
  const type = headers.get('content-type')
  if (type !== null && !isUnwrapped && TYPE.test(type) && !UNSPECIFIC.test(type))
    metadata['content-type'] = type
  return Object.keys(metadata).length > 0 ? { metadata } : {}
}

function sentText(name: string, text: string): string {
  try {
    if (/^[\x20-\x7e]*$/.test(text)) return decodeURIComponent(text)
  } catch {
    // as below
  }
  throw new HttpProblem(
    'INVALID_REQUEST',
    `${name} is printable ASCII; anything else, and %, is percent-encoded as UTF-8 (%C3%A9).`,
  )
}

/** The headers of a value. Without a type of its own it has `type`. */
export function metadataHeaders(
  { headers }: Request,
  metadata: Metadata | undefined,
  type: string,
): Record<string, string> {
  if (!metadata) return { 'content-type': type }
  const { 'content-type': own = type } = metadata
  const isOwn = TYPE.test(own) && !RUNNING.test(headers.get('sec-fetch-dest') ?? '')
  return {
    ...Object.fromEntries(
      Object.entries(metadata).map(([name, text]) => [`${PREFIX}${name}`, headerText(text)]),
    ),
    'content-type': isOwn ? own : type,
  }
}
