/** Standard input, kept in a temporary file: it can be read once only, and a job reads twice. */

import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { outputFailure } from './failure.ts'

export interface Spooled {
  readonly file: string
  close(): Promise<void>
}

export async function spool(stdin: Readable, signal?: AbortSignal): Promise<Spooled> {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-input-'))
  const file = join(directory, 'stdin')
  const close = (): Promise<void> => rm(directory, { recursive: true, force: true })
  try {
    await pipeline(stdin, createWriteStream(file, { mode: 0o600 }), { signal })
    return { file, close }
  } catch (error) {
    await close()
    signal?.throwIfAborted()
    throw outputFailure(file, error)
  }
}
