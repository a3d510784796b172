/** How keys of documents are written in rows, and how documents are told. */

import { type Bytes, EMPTY } from '../bytes.ts'
import type { Named } from './decision.ts'

export function named({ id, source }: Named): Named {
  return { id, source }
}

export function hex(bytes: Bytes): string {
  return Buffer.from(bytes).toString('hex')
}

export function fromHex(text: string): Buffer {
  return text === '' ? EMPTY : Buffer.from(text, 'hex')
}
