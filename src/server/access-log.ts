/** The access log as text or JSON Lines. Lines of one turn of the event loop are written together: a write is a system call. */

import type { Writable } from 'node:stream'

import type { AccessLine } from './options.ts'

export function accessLog(
  out: Pick<Writable, 'write'>,
  format: 'text' | 'json',
): (line: AccessLine) => void {
  const text = format === 'json' ? (line: AccessLine) => JSON.stringify(line) : lineText
  let waiting = ''
  const flush = () => {
    const lines = waiting
    waiting = ''
    out.write(lines)
  }
  return (line) => {
    if (waiting === '') setImmediate(flush)
    waiting += `${text(line)}\n`
  }
}

function lineText(line: AccessLine): string {
  const { at, requestId, method, route, status, ms, caller, code, failure } = line
  const head = `${at} ${status} ${method} ${route} ${ms.toFixed(1)} ms ${caller} ${requestId}`
  const why = [code, failure].filter((part) => part !== undefined).join(' ')
  return why === '' ? head : `${head} ${why}`
}
