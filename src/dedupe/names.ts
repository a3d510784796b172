/** How keys of documents are written in rows, and how documents are named in reports. */

import { asBuffer, type Bytes, EMPTY } from '../platform/bytes.ts'
import type { Named } from './decision/decision.ts'

export function named({ id, source }: Named): Named {
  return { id, source }
}

export function hex(bytes: Bytes): string {
  return asBuffer(bytes).toString('hex')
}

export function fromHex(text: string): Buffer {
  return text === '' ? EMPTY : Buffer.from(text, 'hex')
}
