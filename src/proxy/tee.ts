/**
 * One body for two readers: the client, and the store. Whoever is slower sets the pace, so that nothing piles up; one who
 * leaves does not stop the other.
 */

import { TransformStream } from 'node:stream/web'
import type { ReadableStream, WritableStreamDefaultWriter } from 'node:stream/web'

export interface Branch {
  readonly stream: ReadableStream<Uint8Array>
  readonly writer: WritableStreamDefaultWriter<Uint8Array>
  isGone: boolean
}

export function branch(): Branch {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const made: Branch = { stream: readable, writer, isGone: false }
  writer.closed.catch(() => (made.isGone = true))
  return made
}

async function write(to: Branch, piece: Uint8Array): Promise<void> {
  if (!to.isGone) await to.writer.write(piece).catch(() => (to.isGone = true))
}

export function end(to: Branch, error?: unknown): void {
  const ended = error === undefined ? to.writer.close() : to.writer.abort(error)
  ended.catch(() => undefined)
}

/**
 * Reads the source to its end. The second branch gets at most `bytesMax` bytes: where there are more, it fails, and the
 * first goes on. Says how it ended.
 */
export async function pump(
  source: AsyncIterable<Uint8Array>,
  client: Branch,
  stored: Branch,
  bytesMax: number,
): Promise<'whole' | 'too-long' | 'broken'> {
  let bytes = 0
  try {
    for await (const piece of source) {
      bytes += piece.byteLength
      if (bytes > bytesMax && !stored.isGone)
        leave(stored, new RangeError('The body is too long to be kept.'))
      if (client.isGone && stored.isGone) break
      await Promise.all([write(client, piece), write(stored, piece)])
    }
    end(stored)
    end(client)
  } catch (error) {
    end(stored, error)
    end(client, error)
    return 'broken'
  }
  return bytes > bytesMax ? 'too-long' : 'whole'
}

function leave(from: Branch, error: unknown): void {
  from.isGone = true
  end(from, error)
}
