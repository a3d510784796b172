/** Answers that several routes give. */

import { isUtf8 } from 'node:buffer'

import * as v from 'valibot'

import { lightResponse } from './light.ts'

export type SentKey = string | { readonly base64: string }

/** A key that is text, or its bytes. */
export const keyForm: v.GenericSchema<SentKey> = v.pipe(
  v.union([v.string(), v.strictObject({ base64: v.string() })]),
  v.description('A key: text, or {"base64": …} where it is not UTF-8.'),
)

export function keyBytesOf(key: SentKey): Buffer {
  return typeof key === 'string' ? Buffer.from(key) : Buffer.from(key.base64, 'base64')
}

export function json(
  value: unknown,
  init: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Response {
  const headers = { ...init.headers, 'content-type': 'application/json' }
  return lightResponse(JSON.stringify(value), init.status ?? 200, headers)
}

/** Bytes as JSON has them: text, or base64 where they are not UTF-8. */
export function shown(bytes: Buffer): string | { readonly base64: string } {
  return isUtf8(bytes) ? bytes.toString() : { base64: bytes.toString('base64') }
}
