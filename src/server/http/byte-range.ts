/** One range of bytes, as a client asks for it. Several ranges are answered by the whole value, as HTTP allows. */

import { HttpProblem } from './problem.ts'
import { tagOf } from './conditions.ts'

/** `end` is the byte behind the last one. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

export function rangeOf(
  { headers }: Request,
  { bytes, digest }: { readonly bytes: number; readonly digest: string },
): ByteRange | undefined {
  const asked = /^bytes=(\d{0,16})-(\d{0,16})$/.exec(headers.get('range') ?? '')
  const onlyOf = headers.get('if-range')
  if (!asked || (onlyOf !== null && onlyOf !== tagOf(digest))) return undefined
  const [, first = '', last = ''] = asked
  if (first === '' && last === '') return undefined
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes : Math.min(bytes, Number(last) + 1)
  if (start < end) return { start, end }
  throw new HttpProblem('RANGE_NOT_SATISFIABLE', `The value has ${bytes} bytes.`, {
    'content-range': `bytes */${bytes}`,
  })
}

export function contentRange({ start, end }: ByteRange, bytes: number): string {
  return `bytes ${start}-${end - 1}/${bytes}`
}
