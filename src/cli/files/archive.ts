/** `export --archive FILE` and `import --archive FILE`: all of a kind as one file, to carry it between engines. */

import { Readable } from 'node:stream'

import type { KindName, RestoredLocation } from '../../location/index.ts'
import type { Restored } from '../../store/index.ts'
import { ArchiveReader } from '../../platform/archive-stream.ts'
import { writeNamed } from '../../platform/atomic-file.ts'
import { isS3 } from '../../platform/s3/address.ts'
import { unsaidDurability } from '../call/location.ts'
import { Failure, fileFailure, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { openStream } from './open-stream.ts'
import { print, printJson } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { countOf, size } from '../print/units.ts'
import { choice, existingLocationOf, locationOf, withStore } from '../call/with-store.ts'

const MISPLACED = ['prefix', 'overwrite', 'escaped'] as const

export async function exportArchive(invocation: Invocation): Promise<number> {
  refuseMisplaced(invocation)
  const file = invocation.operand(0)
  const location = existingLocationOf(invocation)
  const { archiveLocation } = await import('../../location/index.ts')
  // safe: arguments.ts refuses all but the choices of the table
  const kind = invocation.text('kind') as KindName | undefined
  const pieces = archiveLocation(location, { namespace: invocation.text('namespace'), kind })
  const bytes = file === '-' ? await toStdout(pieces) : await toFile(invocation, file, pieces)
  // With - the archive is what stdout is for.
  if (file === '-') return 0
  if (invocation.flag('json')) await printJson({ archive: file, bytes })
  else if (!invocation.flag('quiet')) await print(`${file}: ${size(bytes)}\n`)
  return 0
}

async function toStdout(pieces: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0
  for await (const piece of pieces) {
    await print(piece)
    bytes += piece.byteLength
  }
  return bytes
}

/** There is never half an archive under its name. */
async function toFile(
  invocation: Invocation,
  file: string,
  pieces: AsyncIterable<Buffer>,
): Promise<number> {
  const progress = Progress.of(invocation, 'record')
  let bytes = 0
  const counted = async function* () {
    for await (const piece of pieces) {
      invocation.signal.throwIfAborted()
      yield piece
      bytes += piece.byteLength
      progress.advance(piece.byteLength)
    }
  }
  try {
    await writeNamed(file, counted())
  } finally {
    progress.end()
  }
  return bytes
}

export async function importArchive(invocation: Invocation): Promise<number> {
  refuseMisplaced(invocation)
  const file = invocation.operand(0)
  const progress = Progress.of(invocation, 'key')
  let source: Readable | undefined
  // It would wait for ever for what a pipe does not give.
  const stop = () => source?.destroy(invocation.signal.reason)
  invocation.signal.addEventListener('abort', stop, { once: true })
  try {
    const opened = await openArchive(file)
    // The stream may be abandoned before anybody reads it: a later reader gets the error then.
    opened.on('error', () => undefined)
    source = opened
    invocation.signal.throwIfAborted()
    const restored = await restore(invocation, opened, (bytes) => progress.advance(bytes))
    progress.end()
    if (invocation.flag('json')) await printJson(restored)
    else if (!invocation.flag('quiet')) await print(`${restoredText(restored)}\n`)
    return 0
  } catch (error) {
    if (isOfFile(error)) throw fileFailure(file, error)
    throw error
  } finally {
    progress.end()
    // A signal may have come while it was opened: an open pipe would keep the process waiting.
    source?.destroy()
  }
}

async function openArchive(file: string): Promise<Readable> {
  if (file === '-') return process.stdin
  if (!isS3(file)) return openStream(file)
  const { readObject } = await import('../../platform/s3/objects.ts')
  return Readable.from(readObject(file), { objectMode: false })
}

/** A store may have other keys already, and options of its own; all else is made as it was archived. */
async function restore(
  invocation: Invocation,
  source: Readable,
  onRow: (bytes: number) => void,
): Promise<Restored | RestoredLocation> {
  const { signal } = invocation
  const archive = await ArchiveReader.open(source)
  if (archive.version === 1) {
    const { restoreStore } = await import('../../store/index.ts')
    return withStore(invocation, { create: true, durability: 'os' }, (store) =>
      restoreStore(store, archive, { signal, onKey: onRow }),
    )
  }
  const { restoreLocation } = await import('../../location/index.ts')
  const location = locationOf(invocation)
  const namespace = invocation.text('namespace')
  const durability = choice(invocation, 'durability') ?? unsaidDurability(location, 'os')
  return restoreLocation(location, archive, { namespace, durability, signal, onRow })
}

function restoredText(restored: Restored | RestoredLocation): string {
  if ('kind' in restored) return `${restored.kind}: ${countOf(restored.rows, 'row')} restored`
  const { keys, expired } = restored
  const gone = expired > 0 ? `; ${countOf(expired, 'key')} had expired` : ''
  return `${countOf(keys, 'key')} restored${gone}`
}

function isOfFile(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && !(error instanceof Failure)
}

function refuseMisplaced(invocation: Invocation): void {
  for (const name of MISPLACED) {
    if (invocation.flag(name) || invocation.text(name) !== undefined) {
      throw usageFailure(`--${name} is for directories: an archive is of everything.`)
    }
  }
}
