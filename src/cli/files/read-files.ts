/**
 * Reads the files that a walk finds, a bounded number and weight ahead: first they are opened, which gives how long
 * they are, then read.
 *
 * A file is read as it is when it is opened; nothing is followed or waited for that took its place.
 */

import { constants } from 'node:fs'

import { ahead } from './ahead.ts'
import { type FileCalls, PacedCalls, waitingCalls } from './file-calls.ts'
import type { Found, Place } from './walk.ts'

const OPEN_MAX = 32
const READ_BYTES_MAX = 16 * 1024 * 1024
const READ_ONCE_BYTES_MAX = 64 * 1024 * 1024
/** Longer files are read by waiting, so that several are under way and the process stays responsive. */
const SMALL_BYTES_MAX = 256 * 1024

/** A link put where a file was is not followed, and a named pipe put there is not waited for. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

type Missed = Exclude<Found, { readonly kind: 'file' }>
interface OpenedFile extends Place {
  readonly kind: 'opened'
  readonly file: number
  readonly bytes: number
}
type Opened = OpenedFile | LongFile | Missed

/** A file that is too long to be read ahead: it is read as it is put. */
type LongFile = { readonly kind: 'long'; readonly bytes: number } & Place

export type FileRead =
  | ({ readonly kind: 'read'; readonly value: Buffer } & Place)
  | LongFile
  | Missed

const LONG_BYTES = 64 * 1024 * 1024

export function readFiles(found: AsyncIterable<Found>): AsyncGenerator<FileRead> {
  const paced = new PacedCalls()
  const opening = { itemsMax: OPEN_MAX, weightMax: 0, weigh: () => 0 }
  const opened = ahead(found, opening, (each) => openFound(paced.calls, each))
  const reading = { itemsMax: OPEN_MAX, weightMax: READ_BYTES_MAX, weigh: weightOf }
  return ahead(opened, reading, (each) =>
    readOpened(weightOf(each) <= SMALL_BYTES_MAX ? paced.calls : waitingCalls, each),
  )
}

function weightOf(opened: Opened): number {
  return opened.kind === 'opened' ? opened.bytes : 0
}

async function openFound(calls: FileCalls, found: Found): Promise<Opened> {
  if (found.kind !== 'file') return found
  const { path, name } = found
  let file: number | undefined
  try {
    file = await calls.open(path, FLAGS)
    const stat = await calls.stat(file)
    if (!stat.isFile()) throw new Error('it is no longer a regular file')
    if (stat.size > LONG_BYTES) {
      await calls.close(file)
      return { kind: 'long', path, name, bytes: stat.size }
    }
    return { kind: 'opened', path, name, file, bytes: stat.size }
  } catch (error) {
    if (file !== undefined) await calls.close(file)
    return { kind: 'failed', path, name, error }
  }
}

async function readOpened(calls: FileCalls, opened: Opened): Promise<FileRead> {
  if (opened.kind !== 'opened') return opened
  const { path, name, file, bytes } = opened
  try {
    return { kind: 'read', path, name, value: await readAll(calls, file, bytes) }
  } catch (error) {
    return { kind: 'failed', path, name, error }
  } finally {
    await calls.close(file)
  }
}

async function readAll(calls: FileCalls, file: number, bytes: number): Promise<Buffer> {
  const value = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  while (at < bytes) {
    const length = Math.min(bytes - at, READ_ONCE_BYTES_MAX)
    const bytesRead = await calls.read(file, value, at, length)
    // It was cut short since it was opened: these are its bytes now.
    if (bytesRead === 0) return value.subarray(0, at)
    at += bytesRead
  }
  return value
}
