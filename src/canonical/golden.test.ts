/**
 * Compares every profile with `test/golden/canonical.json`. A second implementation, in another
 * language, gave the same results for all but the refusals of `json` and characters newer than
 * Unicode 14.0, which it could not compute.
 *
 * A difference is a change of what stored values mean. If it is wanted, the profile gets a new
 * version and the file is changed by hand: there is deliberately no command that rewrites it.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { canonicalNames, canonicalProfile, type CanonicalName } from './index.ts'

interface Golden {
  readonly name: string
  readonly profile: CanonicalName
  /** Absent: 1. */
  readonly version?: number
  /** The value, as text or in hexadecimal. */
  readonly text?: string
  readonly hex?: string
  /** What it must become: so many bytes with this digest, or an error. */
  readonly bytes?: number
  readonly sha256?: string
  readonly error?: string
}

const file = new URL('../../test/golden/canonical.json', import.meta.url)
const goldens = JSON.parse(readFileSync(file, 'utf8')) as Golden[] // safe: wrong rows fail below

function valueOf({ text, hex }: Golden): Uint8Array {
  if (text !== undefined) return new TextEncoder().encode(text)
  return Uint8Array.from(Buffer.from(hex!, 'hex'))
}

function resultOf(golden: Golden): Pick<Golden, 'bytes' | 'sha256' | 'error'> {
  try {
    const recorded = { name: golden.profile, version: golden.version ?? 1 }
    const profile = canonicalProfile(golden.profile, recorded)
    expect(profile).toMatchObject(recorded)
    const canonical = profile.canonicalise(valueOf(golden))
    const sha256 = createHash('sha256').update(canonical).digest('hex')
    return { bytes: canonical.length, sha256 }
  } catch (error) {
    return { error: error instanceof Error && 'code' in error ? String(error.code) : 'unknown' }
  }
}

describe('the golden values', () => {
  it.each(goldens)('$profile $version: $name', (golden) => {
    const { bytes, sha256, error } = golden
    expect(resultOf(golden)).toEqual({ bytes, sha256, error })
  })

  it('cover every profile, with results and with refusals', () => {
    for (const name of canonicalNames) {
      const { version } = canonicalProfile(name)
      const rows = goldens.filter(
        (golden) => golden.profile === name && (golden.version ?? 1) === version,
      )
      expect(rows.filter(({ sha256 }) => sha256 !== undefined).length).toBeGreaterThan(4)
      if (name !== 'none') expect(rows.some(({ error }) => error === 'UNREADABLE_VALUE')).toBe(true)
    }
  })
})
