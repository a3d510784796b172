/** Documents that are a file each. */

import { Batch } from './batch.ts'
import { Decompressed } from './decompress.ts'
import type { Document, InputFile, Reject, Shard } from './document.ts'
import { PrestigeError } from '../platform/errors.ts'
import { JsonStrings } from './json-string.ts'
import { DocumentMaker, ID_BYTES_MAX, shortened } from './make-document.ts'
import { openInput } from './open-input.ts'
import type { ReadingOptions } from './options.ts'
import { ofJson } from './read-lines.ts'
import { requireNoNul, requireUtf8, tooLong, truncated, Unfit } from './unfit.ts'
import { withoutMark } from './shard-lines.ts'

type Items = readonly (Document | Reject)[]

export async function* readFiles(shard: Shard, options: ReadingOptions): AsyncGenerator<Items> {
  const batch = new Batch(options)
  const strings = new JsonStrings(false)
  for (const [position, file] of (shard.files ?? []).entries()) {
    if (position < options.resume) continue
    const item = await readFile(shard, file, position, options, strings)
    const bytes = 'text' in item ? item.text.length : 0
    if (batch.add(item, bytes)) yield batch.take()
  }
  if (!batch.isEmpty) yield batch.take()
}

async function readFile(
  shard: Shard,
  file: InputFile,
  position: number,
  options: ReadingOptions,
  strings: JsonStrings,
): Promise<Document | Reject> {
  const maker = new DocumentMaker({ ...shard, path: file.path }, options)
  const place = { position, line: 1, offset: 0 }
  let bytes: Buffer = Buffer.alloc(0)
  try {
    bytes = await wholeFile(file, shard.compression, options.lineBytesMax)
    requireUtf8(bytes)
    if (shard.isJson) return ofJson(maker, withoutMark(bytes), place, strings)
    requireNoNul(bytes)
    const text = withoutMark(bytes).toString('utf8')
    return { ...maker.ofText(text, place), id: shortened(file.path, ID_BYTES_MAX) }
  } catch (error) {
    const unfit = unfitOf(error)
    return { ...maker.reject(place, unfit, bytes), path: file.path }
  }
}

/** A folder of a million files is not given up for one that cannot be opened. */
function unfitOf(error: unknown): Unfit {
  if (error instanceof Unfit) return error
  if (error instanceof PrestigeError && error.code === 'INPUT_UNREADABLE') {
    return new Unfit('unreadable', error.message.replace(/\.$/, ''))
  }
  throw error
}

/** Throws `Unfit` where it is longer than `bytesMax`, which is then not held. */
export async function wholeFile(
  file: InputFile,
  compression: Shard['compression'],
  bytesMax: number,
): Promise<Buffer> {
  const input = openInput(file)
  try {
    if (compression === 'none') {
      if (file.fileBytes > bytesMax) throw tooLong(file.fileBytes, bytesMax)
      const bytes = Buffer.allocUnsafe(file.fileBytes)
      await input.read(bytes, 0)
      input.requireUnchanged()
      return bytes
    }
    return await decompressWhole(new Decompressed(input, compression), bytesMax)
  } finally {
    input.close()
  }
}

async function decompressWhole(decompressed: Decompressed, bytesMax: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const block of decompressed.blocks()) {
    length += block.length
    if (length > bytesMax) throw tooLong(length, bytesMax)
    parts.push(Buffer.from(block))
  }
  if (decompressed.damage !== undefined) throw truncated(decompressed.damage, 0)
  return Buffer.concat(parts)
}
