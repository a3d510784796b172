/** Files of the output: what was kept, compressed as its input was, and as private. */

import { stat } from 'node:fs/promises'
import type { Transform } from 'node:stream'
import { createGzip } from 'node:zlib'

import { AtomicFile } from '../platform/atomic-file.ts'
import { PrestigeError } from '../platform/errors.ts'
import { resolve } from '../platform/paths.ts'
import { isS3 } from '../platform/s3/address.ts'
import { zstdOfNode } from './decompress.ts'
import type { Compression } from './document.ts'

/** Whether output can be compressed so: zstd needs Node 22.15. */
export function canCompress(compression: Compression): boolean {
  return compression !== 'zstd' || zstdOfNode('createZstdCompress') !== undefined
}

/** `like`: a file whose permissions it gets, as far as the umask allows. */
export async function openOutput(
  path: string,
  compression: Compression,
  like: string,
): Promise<AtomicFile> {
  const mode = await modeOf(like)
  return AtomicFile.open(path, { mode, makesDirectory: true, through: compressorOf(compression) })
}

/** Of a file that is gone, the strictest: reading it reports that it is. */
async function modeOf(file: string): Promise<number> {
  // An object has none: the umask decides.
  if (isS3(file)) return 0o666
  const found = await stat(file).catch(() => undefined)
  return found ? found.mode & 0o666 : 0o600
}

function compressorOf(compression: Compression): Transform | undefined {
  if (compression === 'gzip') return createGzip({ chunkSize: 256 * 1024 })
  if (compression === 'zstd') return zstdOfNode('createZstdCompress')?.({ chunkSize: 256 * 1024 })
  return undefined
}

/** An output in the place of its own input would destroy what is still to be read. */
export async function requireOther(input: string, output: string): Promise<void> {
  const [from, to] = await Promise.all(
    [input, output].map(async (path) =>
      isS3(path) ? undefined : stat(path).catch(() => undefined),
    ),
  )
  const isSame =
    from && to ? from.ino === to.ino && from.dev === to.dev : resolve(input) === resolve(output)
  if (!isSame) return
  const message = `${output} would replace its own input. Write to another directory.`
  throw new PrestigeError('INVALID_OPTIONS', message)
}
