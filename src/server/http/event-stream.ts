/** Server-sent events: a stream that lasts until what it is about ends, or the client goes. */

export interface ServerEvent {
  readonly event: string
  readonly data: unknown
  /** What a client sends as `Last-Event-ID` to go on behind it. */
  readonly id?: string | undefined
}

/** Shorter than the time after which an idle connection is ended, here and by common proxies. */
const HEARTBEAT_MS = 10_000
const RETRY_MS = 2000

/** `events` is given a signal that is aborted when nobody takes events any more. */
export function eventStream(
  events: (signal: AbortSignal) => AsyncIterable<ServerEvent>,
  heartbeatMs: number = HEARTBEAT_MS,
): Response {
  const encoder = new TextEncoder()
  const gone = new AbortController()
  const iterator = events(gone.signal)[Symbol.asyncIterator]()
  let heartbeat: NodeJS.Timeout | undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`))
      heartbeat = setInterval(() => {
        // A client that takes nothing is not sent more and more of them.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(':\n\n'))
      }, heartbeatMs)
    },
    async pull(controller) {
      try {
        const { done, value } = await iterator.next()
        if (gone.signal.aborted) return
        if (!done) return controller.enqueue(encoder.encode(textOf(value)))
        clearInterval(heartbeat)
        controller.close()
      } catch (error) {
        clearInterval(heartbeat)
        throw error
      }
    },
    async cancel() {
      clearInterval(heartbeat)
      gone.abort()
      await iterator.return?.()
    },
  })
  const headers = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
  return new Response(body, { headers })
}

/** JSON has no line break of its own, so that data is one line. */
function textOf({ event, data, id }: ServerEvent): string {
  const named = id === undefined ? '' : `id: ${id}\n`
  return `${named}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
