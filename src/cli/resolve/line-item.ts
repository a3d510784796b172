/** From a line to what is to be resolved, or to the reason why it cannot be. */

import { isUtf8 } from 'node:buffer'

import type { ResolveItem, ResolverValue } from '../../index.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { LINE_BYTES_MAX, type Line } from '../files/lines.ts'
import { size } from '../print/units.ts'

export interface LineItem extends ResolveItem {
  readonly line: Line
  /** The line as text. */
  readonly text: string
  /** What the input calls itself, where a field for that was named. */
  readonly ownId?: unknown
}

export interface BadLine {
  readonly line: Line
  readonly reason: string
}

/** How lines are read; the fields are of JSON lines. */
export interface Reading {
  readonly group: string
  readonly fields: Fields | undefined
}

interface Fields {
  readonly text: string
  readonly vector: string | undefined
  readonly group: string | undefined
  readonly id: string | undefined
}

const MARK = '\ufeff'

export function readingOf(invocation: Invocation, group: string): Reading {
  if (!invocation.flag('jsonl')) {
    return { group, fields: undefined }
  }
  const fields = {
    text: invocation.text('text-field') ?? 'text',
    vector: invocation.text('vector-field'),
    group: invocation.text('group-field'),
    id: invocation.text('id-field'),
  }
  if (fields.vector !== undefined && invocation.text('text-field') !== undefined) {
    throw usageFailure('Give --text-field or --vector-field, not both.')
  }
  return { group, fields }
}

export function itemOf(line: Line, reading: Reading): LineItem | BadLine {
  const bad = (reason: string) => ({ line, reason })
  const { bytes, number } = line
  if (bytes === undefined) return bad(`it is longer than ${size(LINE_BYTES_MAX)}`)
  if (!isUtf8(bytes)) return bad('it is not valid UTF-8')
  const whole = bytes.toString()
  const text = number === 1 && whole.startsWith(MARK) ? whole.slice(1) : whole
  if (text === '') return bad('it is empty')
  if (!reading.fields) return { line, text, group: reading.group, value: text }
  const item = fromJson(text, reading.group, reading.fields)
  return typeof item === 'string' ? bad(item) : { line, text, ...item }
}

type Found = Pick<LineItem, 'group' | 'value' | 'ownId'>

/** A text is why not. */
function fromJson(text: string, group: string, fields: Fields): Found | string {
  let record: unknown
  try {
    record = JSON.parse(text)
  } catch {
    return 'it is not valid JSON'
  }
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    return 'it is no JSON object'
  }
  const of = (name: string): unknown =>
    Object.hasOwn(record, name) ? Reflect.get(record, name) : undefined
  const named = fields.group === undefined ? group : of(fields.group)
  if (typeof named !== 'string' && typeof named !== 'number') {
    return missing(fields.group ?? '', named, 'a text')
  }
  const value = fields.vector === undefined ? textAt(fields.text, of) : vectorAt(fields.vector, of)
  if ('reason' in value) return value.reason
  const ownId = fields.id === undefined ? undefined : of(fields.id)
  if (fields.id !== undefined && ownId === undefined) return missing(fields.id, ownId, 'an id')
  return { group: String(named), value: value.found, ...(fields.id !== undefined && { ownId }) }
}

type Taken = { readonly found: ResolverValue } | { readonly reason: string }

function textAt(name: string, of: (name: string) => unknown): Taken {
  const text = of(name)
  if (typeof text !== 'string') return { reason: missing(name, text, 'a text') }
  return text === '' ? { reason: `its "${name}" is empty` } : { found: text }
}

function vectorAt(name: string, of: (name: string) => unknown): Taken {
  const vector = of(name)
  if (Array.isArray(vector) && vector.every((number) => typeof number === 'number')) {
    return { found: vector }
  }
  return { reason: missing(name, vector, 'a list of numbers') }
}

function missing(name: string, found: unknown, wanted: string): string {
  return found === undefined ? `it has no field "${name}"` : `its "${name}" is not ${wanted}`
}
