/**
 * The container of every archive: a magic line, then records of one byte of kind, six of length and their bytes. `H` is
 * the header (JSON), `E` the end (JSON: counts, and the SHA-256 of everything before it); what is between belongs to
 * what was archived.
 *
 * Invariant: an archive without its end, or with another byte anywhere, is refused when its end is reached.
 */

import { createHash, type Hash } from 'node:crypto'

import { asBuffer, type Bytes, equalBytes } from './bytes.ts'
import { PrestigeError } from './errors.ts'

const HEAD_BYTES = 7
const JSON_BYTES_MAX = 1024 * 1024

/** 1: keys and contents of a store. 2: rows of anything else; its header names what. */
export type ArchiveVersion = 1 | 2

function magicOf(version: ArchiveVersion): Buffer {
  return Buffer.from(`prestige archive ${version}\n`)
}

const MAGIC_BYTES = magicOf(1).byteLength

export interface ArchiveRecord {
  readonly kind: string
  readonly body: Buffer
}

export type ArchiveCounts = Readonly<Record<string, number>>

/** Makes the pieces of an archive, in the order in which they are asked for. */
export class ArchiveWriter {
  readonly #hash: Hash = createHash('sha256')

  begin(version: ArchiveVersion, header: object): Buffer {
    const magic = magicOf(version)
    this.#hash.update(magic)
    return Buffer.concat([magic, this.record('H', Buffer.from(JSON.stringify(header)))])
  }

  record(kind: string, ...parts: readonly Bytes[]): Buffer {
    const record = framed(kind, ...parts)
    this.#hash.update(record)
    return record
  }

  end(counts: ArchiveCounts): Buffer {
    const sha256 = this.#hash.digest('hex')
    return framed('E', Buffer.from(JSON.stringify({ ...counts, sha256 })))
  }
}

function framed(kind: string, ...parts: readonly Bytes[]): Buffer {
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0)
  const head = Buffer.alloc(HEAD_BYTES)
  head.write(kind, 'latin1')
  head.writeUIntBE(bytes, 1, 6)
  return Buffer.concat([head, ...parts])
}

export type ArchiveSource = AsyncIterable<Bytes> | ArchiveReader

/** An archive whose header was read. */
export class ArchiveReader {
  readonly version: ArchiveVersion
  readonly header: Readonly<Record<string, unknown>>
  readonly #bytes: Taken

  private constructor(version: ArchiveVersion, header: Record<string, unknown>, bytes: Taken) {
    this.version = version
    this.header = header
    this.#bytes = bytes
  }

  static async open(source: ArchiveSource): Promise<ArchiveReader> {
    if (source instanceof ArchiveReader) return source
    const bytes = new Taken(source)
    const magic = await bytes.take(MAGIC_BYTES)
    const version = ([1, 2] as const).find((one) => magic && equalBytes(magic, magicOf(one)))
    if (!magic || !version) throw brokenArchive('it does not begin as an archive does')
    bytes.count(magic)
    const first = await nextRecord(bytes, { H: [2, JSON_BYTES_MAX] })
    return new ArchiveReader(version, parsed(first.body), bytes)
  }

  /**
   * Records up to the end, which must count as many as `counts` says then. `limits` are the least and the most bytes
   * of each kind.
   */
  async *records(
    limits: Readonly<Record<string, readonly [number, number]>>,
    counts: () => ArchiveCounts,
  ): AsyncGenerator<ArchiveRecord> {
    const all = { ...limits, E: [2, JSON_BYTES_MAX] as const }
    for (;;) {
      const record = await nextRecord(this.#bytes, all)
      if (record.kind === 'E') {
        this.#requireEnd(record.body, counts())
        if (await this.#bytes.take(1)) throw brokenArchive('something follows its end')
        return
      }
      yield record
    }
  }

  #requireEnd(body: Buffer, counts: ArchiveCounts): void {
    const wanted = JSON.stringify({ ...counts, sha256: this.#bytes.digest() })
    if (body.toString() !== wanted) throw brokenArchive('its end does not match its contents')
  }
}

async function nextRecord(
  bytes: Taken,
  limits: Readonly<Record<string, readonly [number, number]>>,
): Promise<ArchiveRecord> {
  const head = await bytes.take(HEAD_BYTES)
  if (!head) throw brokenArchive('it is cut off')
  const kind = head.toString('latin1', 0, 1)
  const length = head.readUIntBE(1, 6)
  const [least, most] = limits[kind] ?? []
  if (least === undefined || most === undefined || length < least || length > most) {
    throw brokenArchive('it has a record that no archive has')
  }
  const body = await bytes.take(length)
  if (!body) throw brokenArchive('it is cut off')
  if (kind !== 'E') bytes.count(head, body)
  return { kind, body }
}

function parsed(body: Buffer): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(body.toString())
    if (typeof header === 'object' && header !== null) return { ...header }
  } catch {
    // as below
  }
  throw brokenArchive('its header cannot be read')
}

export function brokenArchive(how: string): PrestigeError {
  return new PrestigeError(
    'ARCHIVE_BROKEN',
    `The archive is damaged: ${how}. Make it again with prestige export --archive.`,
  )
}

/** Bytes of a stream, as many at a time as are wanted, and the digest of all that were counted. */
class Taken {
  readonly #source: AsyncIterator<Bytes>
  readonly #hash: Hash = createHash('sha256')
  #left: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Bytes>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  count(...all: readonly Buffer[]): void {
    for (const bytes of all) this.#hash.update(bytes)
  }

  digest(): string {
    return this.#hash.digest('hex')
  }

  /** `undefined` when there are not so many. */
  async take(count: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [this.#left]
    let bytes = this.#left.byteLength
    while (bytes < count) {
      const step = await this.#source.next()
      if (step.done) return undefined
      parts.push(asBuffer(step.value))
      bytes += step.value.byteLength
    }
    const all = parts.length === 1 ? this.#left : Buffer.concat(parts, bytes)
    this.#left = all.subarray(count)
    // A copy: what is taken may be kept, and must not keep all that came with it.
    return Buffer.from(all.subarray(0, count))
  }
}
