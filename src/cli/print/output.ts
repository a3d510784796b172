/** What goes to stdout and stderr. Results go to stdout and are waited for; everything else to stderr. */

import { harmlessLines } from '../../platform/harmless.ts'
import { fileFailure, systemCode } from '../call/failure.ts'
import { keyInJson } from './key-notation.ts'
import { redactedDiagnostic, redactedResult } from './redact.ts'

const SLICE_BYTES = 1024 * 1024

/**
 * Resolves when the reader has taken it; rejects when the reader is gone (EPIPE) or the disk is full. Long
 * values go out in slices, so that a signal is noticed between them. Bytes are data, and printed as they are.
 */
export async function print(output: string | Uint8Array): Promise<void> {
  const { stdout } = process
  // Every write learns of its own failure; without a listener Node would end the process as well.
  if (stdout.listenerCount('error') === 0) stdout.on('error', () => undefined)
  const bytes = typeof output === 'string' ? Buffer.from(redactedResult(output)) : output
  for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) {
    await new Promise<void>((resolve, reject) => {
      stdout.write(bytes.subarray(at, at + SLICE_BYTES), (error) => {
        if (error) reject(systemCode(error) === 'EPIPE' ? error : fileFailure('The output', error))
        else resolve()
      })
    })
  }
}

/** The text of a document. A pipe gets it as it is; a terminal nothing that it would obey. */
export async function printText(text: string): Promise<void> {
  const end = text.endsWith('\n') ? '' : '\n'
  await print(process.stdout.isTTY ? harmlessLines(text) + end : Buffer.from(text + end))
}

export function printJson(value: unknown): Promise<void> {
  return print(`${jsonOf(value)}\n`)
}

/** Bytes in what we print are keys. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(plain(value))
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return keyInJson(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]))
}

/** Says something to the person at the terminal. */
export function tell(text: string): void {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => undefined)
  process.stderr.write(redactedDiagnostic(text))
}

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

const STYLE_CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
}

/** Colours the text where a terminal will show it: never in a pipe, and not against the user's wish. */
export function paint(
  style: Style,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  if (!stream.isTTY || process.env['NO_COLOR'] || process.env['TERM'] === 'dumb') return text
  const [on, off] = STYLE_CODES[style]
  return `\u001b[${on}m${text}\u001b[${off}m`
}
