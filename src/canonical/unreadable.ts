/**
 * The one way a profile says that it cannot read a value.
 *
 * Invariant: the message names the profile, what is wrong, and what the caller can do instead.
 *
 * Not here: choosing between refusing the value and comparing its bytes; that is the caller's
 * option.
 */

import { PrestigeError } from '../platform/errors.ts'

/** `problem` is a clause that completes "the 'json' profile cannot read this value: …". */
export function unreadable(profile: string, problem: string, cause?: unknown): PrestigeError {
  const message =
    `The '${profile}' profile cannot read this value: ${problem}. Choose another canonical ` +
    `profile, or set onUnreadable: 'bytes' to compare such values byte for byte.`
  return new PrestigeError('UNREADABLE_VALUE', message, cause === undefined ? undefined : { cause })
}
