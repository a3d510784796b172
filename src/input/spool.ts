/** Standard input, kept in a temporary file: it can be read once only, and a job reads twice. */

import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { removeAbandoned } from '../platform/abandoned.ts'
import { outputFailure } from '../platform/atomic-file.ts'
import { PrestigeError } from '../platform/errors.ts'

/** A job may read it days later: it must not look abandoned. */
const TOUCH_MS = 60 * 60 * 1000

export interface Spooled {
  readonly file: string
  close(): Promise<void>
}

export async function spool(stdin: Readable, signal?: AbortSignal): Promise<Spooled> {
  await removeAbandoned(tmpdir(), (name) => /^prestige-input-[A-Za-z0-9]{6}$/.test(name))
  const directory = await mkdtemp(join(tmpdir(), 'prestige-input-'))
  const file = join(directory, 'stdin')
  const touching = setInterval(() => void touch(directory), TOUCH_MS).unref()
  const close = (): Promise<void> => {
    clearInterval(touching)
    return rm(directory, { recursive: true, force: true })
  }
  try {
    await pipeline(stdin, requireText, createWriteStream(file, { mode: 0o600 }), { signal })
    return { file, close }
  } catch (error) {
    await close()
    signal?.throwIfAborted()
    if (error instanceof PrestigeError) throw error
    throw outputFailure(file, error)
  }
}

const NULS_MAX = 1024 * 1024
const isNul = (byte: number) => byte === 0

/** An endless stream of NULs, such as /dev/zero, would fill the disk. */
async function* requireText(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let nuls: number | undefined = 0
  for await (const chunk of source) {
    const isNothing: boolean = nuls !== undefined && Buffer.from(chunk).every(isNul)
    nuls = isNothing ? (nuls ?? 0) + chunk.length : undefined
    if ((nuls ?? 0) > NULS_MAX) {
      throw new PrestigeError(
        'INPUT_UNREADABLE',
        'Stdin begins with a megabyte of NUL bytes, so it is no text. Check what is piped in.',
      )
    }
    yield chunk
  }
}

async function touch(path: string): Promise<void> {
  const now = new Date()
  // Gone is gone: whoever reads it next says so.
  await utimes(path, now, now).catch(() => undefined)
}
