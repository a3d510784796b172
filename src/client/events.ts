/** Server-sent events: the data of each, as it comes. */

export async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const events = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/)
      rest = events.pop() ?? ''
      for (const event of events) {
        const data = dataOf(event)
        if (data !== '') yield data
      }
    }
  } catch (error) {
    if (!signal?.aborted) throw error
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Comments keep a connection open, and say nothing. */
function dataOf(event: string): string {
  return event
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).replace(/^ /, ''))
    .join('\n')
}
