/** Waits for a stream that was written to faster than it takes, or that has gone. */

import type { Writable } from 'node:stream'

export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      stream.off('drain', go).off('close', go)
      resolve()
    }
    stream.on('drain', go).on('close', go)
  })
}
