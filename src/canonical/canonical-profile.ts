/**
 * Turns the name of a profile, or a user's own function, into a CanonicalProfile.
 *
 * Invariant: a profile never changes the bytes it is given, and hands back that very array when the
 * value is canonical already, so a caller can distinguish the two with `===`.
 *
 * Not here: the rules themselves (one file each), and `onUnreadable`.
 */

import { types } from 'node:util'
import { PrestigeError } from '../platform/errors.ts'
import { jsonForm } from './json.ts'
import { foldingRules, readingRules, unaccentedRules, type UnicodeRules } from './unicode-rules.ts'
import { requireNormalisation, unicodeForm } from './unicode.ts'
import { unreadable } from './unreadable.ts'
import { requireUtf8 } from './utf8.ts'
import { collapseSpace, collapseSpaceAndLower } from './white-space.ts'

export const canonicalNames = [
  'none',
  'whitespace',
  'ascii-case',
  'unicode',
  'unaccented',
  'json',
] as const

export type CanonicalName = (typeof canonicalNames)[number]

/**
 * A user's own rules. They must be deterministic and idempotent: a store compares what they return,
 * today and years from now.
 */
export interface CanonicalFunction {
  /** 1 to 64 printable ASCII characters. A store records it; change it when results may change. */
  readonly version: string
  /** Receives a copy it may change, returns an array of its own, throws at what it cannot read. */
  canonicalise(bytes: Uint8Array): Uint8Array
}

export type CanonicalInput = CanonicalName | CanonicalFunction

export interface CanonicalProfile {
  /** One of the names above, or `function:` and the version of a user's function. */
  readonly name: string
  /** Changes whenever the canonical bytes of any value may change. */
  readonly version: number | string
  /** Values of which the form is empty are the same only where their bytes are. */
  readonly keepsBlanksApart: boolean
  /**
   * The canonical bytes of a value; the array itself when it is canonical already. Never changes
   * its input, and needs no `this`. Throws UNREADABLE_VALUE when the profile cannot read the value.
   * With `scratch` they may be in that memory, and are good until it is used again.
   */
  readonly canonicalise: (bytes: Uint8Array, scratch?: Buffer) => Uint8Array
}

const versionPattern = /^[\x20-\x7e]{1,64}$/

const builtIn: Readonly<Record<CanonicalName, CanonicalProfile>> = {
  none: profile('none', 1, (bytes) => bytes),
  whitespace: profile('whitespace', 1, (bytes, scratch) => {
    requireUtf8(bytes, 'whitespace')
    return collapseSpace(bytes, scratch)
  }),
  'ascii-case': profile('ascii-case', 1, (bytes, scratch) => {
    requireUtf8(bytes, 'ascii-case')
    return collapseSpaceAndLower(bytes, scratch)
  }),
  unicode: unicodeProfile('unicode', 2, readingRules),
  unaccented: unicodeProfile('unaccented', 1, unaccentedRules),
  json: profile('json', 1, jsonForm),
}

/** Of values that were written with them; nothing new is. */
const earlier: readonly CanonicalProfile[] = [unicodeProfile('unicode', 1, foldingRules)]

/** A profile as it is recorded beside what was written with it. */
export interface RecordedProfile {
  readonly name: string
  readonly version: number | string
}

/**
 * The latest version of a profile; of one that was recorded under the same name, the version that was.
 * Throws INVALID_OPTIONS for an unknown name or a function without a usable version.
 */
export function canonicalProfile(
  input: CanonicalInput,
  recorded?: RecordedProfile,
): CanonicalProfile {
  if (isCanonicalFunction(input)) return functionProfile(input)
  if (!isCanonicalName(input)) throw unknownProfile(input)
  const latest = builtIn[input]
  if (input === 'unicode' || input === 'unaccented') requireNormalisation(input)
  if (recorded?.name !== input) return latest
  return earlier.find((one) => one.name === input && one.version === recorded.version) ?? latest
}

function functionProfile(input: CanonicalFunction): CanonicalProfile {
  const { version } = input
  if (typeof version !== 'string' || !versionPattern.test(version)) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `The version of a canonical function is recorded in the store and must be 1 to 64 ` +
        `printable ASCII characters, for example 'my-rules-2'.`,
    )
  }
  const name = `function:${version}`
  return profile(name, version, (bytes) => requireBytes(name, callUser(name, input, bytes)))
}

/** The function gets a copy: one that works in place would otherwise change what is stored. */
function callUser(name: string, input: CanonicalFunction, bytes: Uint8Array): unknown {
  try {
    return input.canonicalise(new Uint8Array(bytes))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw unreadable(name, `the function threw "${reason}"`, cause)
  }
}

function requireBytes(name: string, result: unknown): Uint8Array {
  if (types.isUint8Array(result)) return result
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `The canonical '${name}' must return a Uint8Array and returned ${describe(result)}. ` +
      `Encode text with new TextEncoder().encode(text); promises cannot be awaited here.`,
  )
}

function describe(result: unknown): string {
  if (result === null || typeof result !== 'object') return typeof result
  return types.isPromise(result) ? 'a promise' : 'another object'
}

function unicodeProfile(
  name: CanonicalName,
  version: number,
  rules: UnicodeRules,
): CanonicalProfile {
  const form = (bytes: Uint8Array, scratch?: Buffer) => unicodeForm(rules, bytes, scratch)
  return profile(name, version, form, rules !== foldingRules)
}

function profile(
  name: string,
  version: number | string,
  form: (bytes: Uint8Array, scratch?: Buffer) => Uint8Array,
  keepsBlanksApart = false,
): CanonicalProfile {
  return Object.freeze({
    name,
    version,
    keepsBlanksApart,
    canonicalise: (bytes: Uint8Array, scratch?: Buffer) =>
      originalIfEqual(bytes, form(bytes, scratch)),
  })
}

/** Comparing is two orders of magnitude cheaper than hashing the same bytes a second time. */
function originalIfEqual(bytes: Uint8Array, canonical: Uint8Array): Uint8Array {
  return Buffer.compare(bytes, canonical) === 0 ? bytes : canonical
}

// The two guards take `unknown`, because options also arrive from JavaScript and from config files.

function isCanonicalFunction(input: unknown): input is CanonicalFunction {
  return (
    typeof input === 'object' &&
    input !== null &&
    'canonicalise' in input &&
    typeof input.canonicalise === 'function'
  )
}

function isCanonicalName(input: unknown): input is CanonicalName {
  return canonicalNames.some((name) => name === input)
}

function unknownProfile(input: unknown): PrestigeError {
  const found = typeof input === 'string' ? `'${input}'` : `a value of type ${typeof input}`
  return new PrestigeError(
    'INVALID_OPTIONS',
    `The canonical profile must be one of ${canonicalNames.join(', ')}, or an object with a ` +
      `version and a canonicalise function; found ${found}.`,
  )
}
