/**
 * The store's rows as verify reads them: as bytes first, because a row that cannot be decoded is a finding
 * and does not end the check.
 */

import type { Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { type Codec, ID_BYTES, rows, type SealedCodec, type Space } from '../../backends/index.ts'
import { DIGEST_BYTES } from '../../fingerprint/index.ts'
import {
  type ChunkRow,
  chunks,
  leftPacks,
  packs,
  type RecipePart,
  recipes,
} from '../contents/chunk-rows.ts'
import { deltaBases, deltas, heldBases } from '../contents/delta-rows.ts'
import { STREAM_BYTES_MAX } from '../prepare.ts'
import {
  contents,
  digests,
  entries,
  Entry,
  expiries,
  Form,
  forms,
  Known,
  members,
  refs,
  released,
  staged,
  type Staged,
} from '../rows.ts'

const asIs: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }

/**
 * Backends know a space by its name, so this one holds the very same rows: without their checksums, and such that no
 * codec can read them where the checksum was wrong.
 */
export function twin({ name, codec, kind: _kind, ...traits }: Space<unknown>): Space<Bytes> {
  if (!isSealed(codec)) return rows(name, asIs, traits)
  const decode = (bytes: Bytes, key?: Bytes) => (key ? codec.plain(bytes, key) : bytes)
  return rows(name, { encode: (bytes) => bytes, decode }, traits)
}

function isSealed(codec: Codec<unknown>): codec is SealedCodec<unknown> {
  return 'plain' in codec
}

export const raw = {
  entries: twin(entries),
  digests: twin(digests),
  contents: twin(contents),
  refs: twin(refs),
  forms: twin(forms),
  members: twin(members),
  expiries: twin(expiries),
  released: twin(released),
  staged: twin(staged),
  chunks: twin(chunks),
  recipes: twin(recipes),
  packs: twin(packs),
  leftPacks: twin(leftPacks),
  deltas: twin(deltas),
  deltaBases: twin(deltaBases),
  heldBases: twin(heldBases),
} as const

/** An entry that points at no content: `get` fails by name, and the key can be put and deleted. */
export const NOWHERE: Entry = Entry.of({
  id: Buffer.alloc(ID_BYTES),
  digest: Buffer.alloc(DIGEST_BYTES),
  putAt: 0,
  bytes: 0,
  expiresAt: undefined,
  outcome: 'new',
})

// Each of these answers `undefined` for a row that is missing and for one that nobody can have written.

export function entryOf(bytes: Bytes | undefined): Entry | undefined {
  return decoded(bytes, (row) => {
    const entry = new Entry(row)
    return entry.bytes <= STREAM_BYTES_MAX ? entry : undefined
  })
}

export function knownOf(bytes: Bytes | undefined): Known | undefined {
  const known = decoded(bytes, (row) => new Known(row))
  if (known === undefined || known.firstKey.byteLength === 0) return undefined
  return known.bytes <= STREAM_BYTES_MAX ? known : undefined
}

export function formRowOf(bytes: Bytes | undefined): Form | undefined {
  const form = decoded(bytes, (row) => new Form(row))
  if (form === undefined || form.firstKey.byteLength === 0) return undefined
  return form
}

export function stagedOf(bytes: Bytes | undefined): Staged | undefined {
  return decoded(bytes, (row) => staged.codec.decode(row))
}

export function recipeOf(bytes: Bytes | undefined): RecipePart | undefined {
  return decoded(bytes, (row) => recipes.codec.decode(row))
}

export function chunkRowOf(bytes: Bytes | undefined): ChunkRow | undefined {
  return decoded(bytes, (row) => chunks.codec.decode(row))
}

/** Where chunks are; a row that cannot be read counts as missing. */
export const tolerantChunks: Space<ChunkRow | undefined> = rows(
  chunks.name,
  {
    encode: () => {
      throw new TypeError('rows are not written by this')
    },
    decode: (bytes, key) => chunkRowOf(raw.chunks.codec.decode(bytes, key)),
  },
  { ordered: chunks.ordered },
)

export function decoded<R>(
  bytes: Bytes | undefined,
  decode: (row: Bytes) => R | undefined,
): R | undefined {
  if (bytes === undefined) return undefined
  try {
    return decode(bytes)
  } catch (error) {
    // A row that is cut off may only be noticed when a field behind its end is read.
    const isCutOff = error instanceof RangeError
    if (isCutOff || (error instanceof PrestigeError && error.code === 'CONTENT_CORRUPT'))
      return undefined
    throw error
  }
}
