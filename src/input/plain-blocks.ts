/** A file as it is, or decompressed if its name says that it is compressed. */

import { stat } from '../platform/files.ts'

import { Decompressed } from './decompress.ts'
import { inputFailure } from './failure.ts'
import { compressionOf } from './formats.ts'
import { openInput } from './open-input.ts'

/** Blocks are good until the next one is asked for. */
export async function* plainBlocks(file: string): AsyncGenerator<Buffer> {
  const { size, mtimeMs } = await stat(file).catch((error: unknown) => {
    throw inputFailure(file, error)
  })
  const input = openInput({ file, path: file, fileBytes: size, modifiedMs: mtimeMs })
  try {
    const compression = compressionOf(file)
    if (compression === 'none') yield* input.blocks(0, size)
    else yield* new Decompressed(input, compression).blocks()
  } finally {
    input.close()
  }
}
