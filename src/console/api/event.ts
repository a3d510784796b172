/** One block of a stream of server-sent events. */

export interface ServerEvent {
  readonly event: string
  readonly data: string
}

/** A block without data is a comment that keeps the connection open. */
export function eventIn(block: string): ServerEvent | undefined {
  const fields = block.split(/\r?\n/).map((line) => /^(\w+): ?(.*)$/.exec(line))
  const of = (name: string) => fields.filter((field) => field?.[1] === name)
  const data = of('data').map((field) => field?.[2] ?? '')
  return data.length === 0
    ? undefined
    : { event: of('event')[0]?.[2] ?? 'message', data: data.join('\n') }
}
