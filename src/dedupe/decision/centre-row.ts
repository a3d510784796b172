/** Where the rows of a centre in the indexes are: part of the row of a document. */

import { asBuffer, type Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'

const KEY = 16

/** A document's own rows in the indexes, so that they can be taken out again. */
export interface Centre {
  readonly form: Bytes
  /** Partition and row in the index. */
  readonly near?: readonly [partition: Buffer, row: Buffer] | undefined
  readonly simhash?: readonly [partition: Buffer, row: Buffer] | undefined
  readonly semantic?: readonly [partition: Buffer, row: Buffer] | undefined
  /** It is in the index of containment too, under its row of `near`. */
  readonly isContainable?: boolean
  readonly chunks?: readonly Bytes[]
}

/** Which indexes it is in (1: 1 near, 2 simhash, 4 semantic, 8 containment, under the row of near) form (16) partition and row in each (32) chunks (16 each). */
export function encodeCentre(centre: Centre): Buffer {
  const { form, near, simhash, semantic, isContainable, chunks = [] } = centre
  const kinds =
    (near ? 1 : 0) | (simhash ? 2 : 0) | (semantic ? 4 : 0) | (near && isContainable ? 8 : 0)
  const places = (near ? 2 : 0) + (simhash ? 2 : 0) + (semantic ? 2 : 0)
  const row = Buffer.allocUnsafe(1 + (1 + places + chunks.length) * KEY)
  let at = row.writeUInt8(kinds)
  const put = (key: Bytes) => {
    row.set(key, at)
    at += KEY
  }
  put(form)
  for (const place of [near, simhash, semantic]) place?.forEach(put)
  chunks.forEach(put)
  return row
}

export function decodeCentre(bytes: Bytes): Centre {
  const kinds = bytes[0] ?? 0
  let at = 1
  const next = () => {
    at += KEY
    if (at > bytes.byteLength) {
      throw new PrestigeError('CONTENT_CORRUPT', 'A row of the corpus job (centre) is cut short.')
    }
    return asBuffer(bytes).subarray(at - KEY, at)
  }
  const form = next()
  const place = (kind: number) => (kinds & kind ? ([next(), next()] as const) : undefined)
  const [near, simhash, semantic] = [place(1), place(2), place(4)]
  const chunks: Buffer[] = []
  while (at < bytes.byteLength) chunks.push(next())
  return { form, near, simhash, semantic, chunks, isContainable: (kinds & 8) !== 0 }
}
