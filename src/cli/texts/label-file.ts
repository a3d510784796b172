/**
 * A file of labels that grows by one line for every answer: JSON lines as `tune` reads them.
 *
 * A line is synced before the next question is asked. What a crash has left of the last line is cut off; any other
 * line that cannot be read is an error, and the file stays as it is.
 */

import { type FileHandle, open } from 'node:fs/promises'

import { Failure, fileFailure } from '../call/failure.ts'
import { labelledPairs } from './labelled-pairs.ts'

const NEWLINE = 0x0a

/** A pair with what somebody says of it. */
export interface LabelledTexts {
  readonly a: string
  readonly b: string
  readonly isDuplicate: boolean
}

interface Label extends LabelledTexts {
  /** Where its line begins. */
  readonly offset: number
}

export class LabelFile {
  readonly path: string
  readonly #handle: FileHandle
  readonly #labels: Label[]
  #bytes: number
  /** Bytes of a last line that could not be read. */
  readonly cutOff: number

  private constructor(path: string, handle: FileHandle, found: Found) {
    this.path = path
    this.#handle = handle
    this.#labels = found.labels
    this.#bytes = found.bytes
    this.cutOff = found.cutOff
  }

  static async open(path: string): Promise<LabelFile> {
    const handle = await open(path, 'a+').catch((error: unknown) => {
      throw fileFailure(path, error)
    })
    try {
      const bytes = await handle.readFile()
      const found = labelsIn(bytes, path)
      if (found.cutOff > 0) await handle.truncate(found.bytes)
      else if (bytes.length > 0 && bytes.at(-1) !== NEWLINE) {
        await handle.write('\n')
        found.bytes++
      }
      return new LabelFile(path, handle, found)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  get labels(): readonly LabelledTexts[] {
    return this.#labels
  }

  async add({ a, b, isDuplicate }: LabelledTexts): Promise<void> {
    const label = isDuplicate ? 'duplicate' : 'different'
    const line = Buffer.from(`${JSON.stringify({ a, b, label })}\n`)
    try {
      await this.#handle.appendFile(line)
      await this.#handle.sync()
    } catch (error) {
      // Half a line would be in the way of the next one.
      await this.#handle.truncate(this.#bytes).catch(() => undefined)
      throw fileFailure(this.path, error)
    }
    this.#labels.push({ a, b, isDuplicate, offset: this.#bytes })
    this.#bytes += line.byteLength
  }

  /** Removes the last label and returns its pair; `undefined` where there is none. */
  async undo(): Promise<LabelledTexts | undefined> {
    const last = this.#labels.at(-1)
    if (!last) return undefined
    try {
      await this.#handle.truncate(last.offset)
      await this.#handle.sync()
    } catch (error) {
      throw fileFailure(this.path, error)
    }
    this.#labels.pop()
    this.#bytes = last.offset
    return last
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

interface Found {
  readonly labels: Label[]
  bytes: number
  readonly cutOff: number
}

function labelsIn(bytes: Buffer, path: string): Found {
  if (bytes.length > 0 && !/^\ufeff?\s*(\{|$)/.test(bytes.toString('utf8', 0, 64))) {
    throw new Failure(
      'invalid',
      'INVALID_VALUE',
      `${path} does not hold JSON lines, so no label is added to it. Name another file with -o.`,
    )
  }
  const lastLine = bytes.lastIndexOf(NEWLINE) + 1
  const isDamaged = lastLine < bytes.length && !isReadable(bytes.subarray(lastLine), path)
  const end = isDamaged ? lastLine : bytes.length
  const pairs = [...labelledPairs(bytes.subarray(0, end), path)]
  const offsets: number[] = []
  for (let at = 0; at < end;) {
    const found = bytes.indexOf(NEWLINE, at)
    const next = found < 0 || found >= end ? end : found + 1
    if (bytes.toString('utf8', at, next).trim() !== '') offsets.push(at)
    at = next
  }
  const labels = pairs.flatMap(({ a, b, isDuplicate }, at) =>
    isDuplicate === undefined ? [] : [{ a, b, isDuplicate, offset: offsets[at] ?? end }],
  )
  return { labels, bytes: end, cutOff: bytes.length - end }
}

function isReadable(line: Buffer, path: string): boolean {
  try {
    return [...labelledPairs(line, path)].length === 1
  } catch {
    return false
  }
}
