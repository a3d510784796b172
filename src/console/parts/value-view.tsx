/** The value of a key: as text, JSON, bytes or an image, whichever it can be shown as. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { call } from '../api/client.ts'
import { hexByte } from '../api/keys.ts'
import { useLoaded } from '../state/loaded.ts'
import { Shown } from './basics.tsx'
import { moment, size } from './format.ts'

/** So much of a text is shown; an image is loaded whole, up to its own limit. */
const SHOWN_BYTES = 256 * 1024
const IMAGE_BYTES_MAX = 8 * 1024 * 1024
const HEX_BYTES = 4096

type Form = 'text' | 'json' | 'image' | 'hex'

interface Value {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly length: number
  readonly contentType: string
  readonly putAt: string | null
  readonly expires: string | null
  readonly imageType: string | undefined
}

const SIGNATURES: readonly (readonly [type: string, start: RegExp])[] = [
  ['image/png', /^89504e47/],
  ['image/jpeg', /^ffd8ff/],
  ['image/gif', /^47494638/],
  ['image/webp', /^52494646.{8}57454250/],
]

async function load(path: string, signal: AbortSignal): Promise<Value> {
  const { headers } = await call(`kv/${path}`, { method: 'HEAD', signal })
  const length = Number(headers.get('content-length') ?? 0)
  const first = await bytesOf(path, Math.min(length, SHOWN_BYTES), signal)
  const imageType = imageTypeOf(first)
  const isWhole = first.byteLength === length || !imageType || length > IMAGE_BYTES_MAX
  return {
    bytes: isWhole ? first : await bytesOf(path, length, signal),
    length,
    contentType: headers.get('content-type') ?? '',
    putAt: headers.get('last-modified'),
    expires: headers.get('prestige-expires'),
    imageType: length > IMAGE_BYTES_MAX ? undefined : imageType,
  }
}

async function bytesOf(path: string, length: number, signal: AbortSignal): Promise<Value['bytes']> {
  if (length === 0) return new Uint8Array()
  const range = `bytes=0-${length - 1}`
  const response = await call(`kv/${path}`, { headers: { range }, signal })
  return new Uint8Array(await response.arrayBuffer())
}

function imageTypeOf(bytes: Uint8Array): string | undefined {
  const start = [...bytes.subarray(0, 12)].map(hexByte).join('')
  return SIGNATURES.find(([, signature]) => signature.test(start))?.[0]
}

export function ValueView({ path }: { readonly path: string }): JSX.Element {
  const value = useLoaded((signal) => load(path, signal), [path])
  return <Shown loaded={value}>{(shown) => <Forms of={shown} key={path} />}</Shown>
}

function Forms({ of: value }: { readonly of: Value }): JSX.Element {
  const forms = formsOf(value)
  const [chosen, setChosen] = useState<Form>()
  const form = chosen ?? forms[0] ?? 'hex'
  const { length, bytes, putAt, expires, contentType } = value
  return (
    <>
      <p class="soft facts">
        <span>{size(length)}</span>
        <span>{contentType}</span>
        {putAt !== null && <span>put {moment(putAt)}</span>}
        {expires !== null && <span>expires {moment(expires)}</span>}
      </p>
      <div class="tabs" role="group" aria-label="Show the value as">
        {forms.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === form}
            onClick={() => setChosen(one)}
          >
            {one === 'json' ? 'JSON' : one}
          </button>
        ))}
      </div>
      <FormView value={value} form={form} />
      {bytes.byteLength < length && <p class="soft">The first {size(bytes.byteLength)}.</p>}
    </>
  )
}

function formsOf(value: Value): Form[] {
  if (value.imageType !== undefined) return ['image', 'hex']
  const text = textOf(value)
  if (text === undefined) return ['hex']
  return jsonOf(text) === undefined ? ['text', 'hex'] : ['json', 'text', 'hex']
}

function textOf({ bytes, length }: Value): string | undefined {
  try {
    // The last character of a part may be cut.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, {
      stream: bytes.byteLength < length,
    })
  } catch {
    return undefined
  }
}

function jsonOf(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return undefined
  }
}

function FormView({ value, form }: { readonly value: Value; readonly form: Form }): JSX.Element {
  if (form === 'image') return <Picture of={value} />
  const text = textOf(value) ?? ''
  const shown = form === 'hex' ? hexOf(value.bytes) : form === 'json' ? (jsonOf(text) ?? '') : text
  return (
    <pre
      class={`content is-${form}`}
      tabIndex={0}
      dir={form === 'text' ? 'auto' : 'ltr'}
      aria-label="Value"
    >
      {shown}
    </pre>
  )
}

/** A blob has no address of this server, and an image runs no script. */
function Picture({ of: { bytes, imageType = '' } }: { readonly of: Value }): JSX.Element {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type: imageType }))
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [bytes, imageType])
  return <div class="picture">{address && <img src={address} alt="The value as an image" />}</div>
}

export function hexOf(bytes: Uint8Array): string {
  const lines: string[] = []
  const end = Math.min(bytes.byteLength, HEX_BYTES)
  for (let at = 0; at < end; at += 16) {
    const row = [...bytes.subarray(at, Math.min(at + 16, end))]
    const digits = row.map(hexByte).join(' ').padEnd(47)
    const text = row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·'))
    lines.push(`${at.toString(16).padStart(8, '0')}  ${digits}  ${text.join('')}`)
  }
  return lines.join('\n')
}
