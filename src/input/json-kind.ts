/**
 * What a `.json` file holds, by its beginning: an array of documents, a document per line, or one document. Nothing is
 * refused here: what is none of these is found out when it is read.
 */

import { Decompressed } from './decompress.ts'
import type { Compression, InputFile } from './document.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { FileKind } from './formats.ts'
import { openInput } from './open-input.ts'
import { withoutMark } from './shard-lines.ts'

const LOOKED_AT_BYTES = 1024 * 1024

interface Beginning {
  readonly text: string
  /** It is the whole file. */
  readonly isWhole: boolean
}

/** `isStream`: of stdin, where one document is not a file of its own. */
export async function jsonKindOf(
  file: InputFile,
  compression: Compression,
  isStream = false,
): Promise<FileKind> {
  let beginning: Beginning
  try {
    beginning = await beginningOf(file, compression)
  } catch (error) {
    // A folder is not given up for one file that cannot be opened: reading reports it.
    if (error instanceof PrestigeError && error.code === 'INPUT_UNREADABLE') {
      return { format: 'files', compression, isJson: true }
    }
    throw error
  }
  const { text, isWhole } = beginning
  const [first = '', second = ''] = firstLines(text)
  if (first.startsWith('[')) return { format: 'json', compression }
  if (first === '') return { format: isWhole ? 'jsonl' : 'json', compression }
  if (second !== '' && (isObject(first) || isObject(second)))
    return { format: 'jsonl', compression }
  const isOne = isWhole && isObject(text)
  if (isOne && !isStream) return { format: 'files', compression, isJson: true }
  if (isOne && second === '') return { format: 'jsonl', compression }
  return { format: 'json', compression }
}

async function beginningOf(file: InputFile, compression: Compression): Promise<Beginning> {
  const input = openInput(file)
  try {
    if (compression === 'none') {
      const bytes = Buffer.alloc(Math.min(LOOKED_AT_BYTES, file.fileBytes))
      return begun(bytes.subarray(0, await input.read(bytes, 0)), bytes.length === file.fileBytes)
    }
    const parts: Buffer[] = []
    let length = 0
    const decompressed = new Decompressed(input, compression)
    for await (const block of decompressed.blocks()) {
      parts.push(Buffer.from(block))
      length += block.length
      if (length > LOOKED_AT_BYTES) return begun(Buffer.concat(parts), false)
    }
    return begun(Buffer.concat(parts), decompressed.damage === undefined)
  } finally {
    input.close()
  }
}

function begun(bytes: Buffer, isWhole: boolean): Beginning {
  return { text: withoutMark(bytes).toString('utf8'), isWhole }
}

/** The first two lines that are not blank. */
function firstLines(text: string): string[] {
  const lines: string[] = []
  for (let at = 0; at < text.length && lines.length < 2;) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    const line = text.slice(at, end).trim()
    if (line !== '') lines.push(line)
    at = end + 1
  }
  return lines
}

function isObject(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
