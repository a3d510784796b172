/**
 * How the command line fails: what it raises itself, and how any failure becomes a message and an exit code.
 *
 * Exit codes go by the kind of a failure, never by its code, so a new code in the store edits nothing here.
 */

import { harmlessLines } from '../../platform/harmless.ts'
import type { ErrorCode, ErrorKind } from '../../index.ts'
import { redactedDiagnostic } from '../print/redact.ts'

export const EXIT_FAILED = 1
export const EXIT_MISSING = 3
export const EXIT_CORRUPT = 4

const EXIT_CODE_OF: Readonly<Record<ErrorKind, number>> = {
  unavailable: EXIT_FAILED,
  conflict: EXIT_FAILED,
  invalid: 2,
  missing: EXIT_MISSING,
  corrupt: EXIT_CORRUPT,
}

/** Has the shape of a PrestigeError, without the cost of loading the store for a typing mistake. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly kind: ErrorKind
  readonly code: ErrorCode

  constructor(kind: ErrorKind, code: ErrorCode, message: string) {
    super(message)
    this.kind = kind
    this.code = code
  }
}

export function usageFailure(message: string): Failure {
  return new Failure('invalid', 'INVALID_USAGE', message)
}

export function keyMissing(shownKey: string): Failure {
  return new Failure('missing', 'KEY_NOT_FOUND', `There is no key "${shownKey}".`)
}

/** What the operating system said about a path, with its own code: `EACCES`, `ENOSPC`. */
export function fileFailure(path: string, error: unknown): Error {
  const code = systemCode(error)
  if (code === 'ENOENT')
    return new Failure('missing', 'FILE_NOT_FOUND', `There is no file or directory ${path}.`)
  const failure = new Error(`${path}: ${reasonOf(error)}.`, { cause: error })
  return code === undefined ? failure : Object.assign(failure, { code })
}

interface ShownFailure {
  readonly code: string
  readonly message: string
  readonly exitCode: number
}

/** Prints what went wrong to stderr and returns the exit code. */
export function reportFailure(error: unknown, asJson: boolean): number {
  // Whoever read our output has seen enough, as in `keys | head`.
  if (systemCode(error) === 'EPIPE') return 0
  const { code, message: raw, exitCode } = shownOf(error)
  const message = redactedDiagnostic(raw)
  const text = asJson
    ? JSON.stringify({ error: { code, message } })
    : `prestige: ${harmlessLines(message)}`
  process.stderr.on('error', () => undefined)
  process.stderr.write(`${text}\n`)
  return exitCode
}

function shownOf(error: unknown): ShownFailure {
  const kind = kindOf(error)
  const code = systemCode(error)
  if (!(error instanceof Error) || code === undefined) return unexpected(error)
  return { code, message: error.message, exitCode: kind ? EXIT_CODE_OF[kind] : EXIT_FAILED }
}

/** Neither ours nor the operating system's: a mistake in prestige, so the stack is worth more than the message. */
function unexpected(error: unknown): ShownFailure {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const message = `Something unexpected went wrong. Please report it.\n${detail}`
  return { code: 'UNEXPECTED', message, exitCode: EXIT_FAILED }
}

/** The code of a PrestigeError, of our own failures, or of an error of the operating system. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

export function kindOf(error: unknown): ErrorKind | undefined {
  if (!(error instanceof Error) || !('kind' in error)) return undefined
  const { kind } = error
  return isKind(kind) ? kind : undefined
}

function isKind(kind: unknown): kind is ErrorKind {
  return typeof kind === 'string' && Object.hasOwn(EXIT_CODE_OF, kind)
}

/** `permission denied` out of `EACCES: permission denied, open '/some/where'`: our own message names the path. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return /^E[A-Z0-9]+: ([^,]+)/.exec(text)?.[1] ?? text
}
