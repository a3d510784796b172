/**
 * Opens what a user names for reading. A named pipe is opened without waiting for a writer: a process that waits in
 * `open` for one can be ended by no signal that it handles.
 */

import { constants, createReadStream, openSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'

const READ_BYTES = 1024 * 1024

export async function openStream(path: string, readBytes = READ_BYTES): Promise<Readable> {
  if (!(await stat(path)).isFIFO()) return createReadStream(path, { highWaterMark: readBytes })
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return new Socket({ fd, readable: true, writable: false })
}
