/** What a file is, by its name. What a `.json` holds is determined by json-kind.ts. */

import type { Compression, InputFormat } from './document.ts'
import type { ListingOptions } from './options.ts'

const FORMAT_OF: Readonly<Record<string, InputFormat>> = {
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  json: 'json',
  parquet: 'parquet',
  csv: 'csv',
  tsv: 'tsv',
  txt: 'files',
  md: 'files',
}

export interface FileKind {
  readonly format: InputFormat
  readonly compression: Compression
  /** Of `files`: each is one JSON document. */
  readonly isJson?: true
}

/** `undefined`: its name does not say what it is. */
export function kindOfFile(path: string, format: ListingOptions['format']): FileKind | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const compression = compressionOf(name)
  const bare = withoutCompression(name)
  const found = format === 'auto' ? FORMAT_OF[bare.slice(bare.lastIndexOf('.') + 1)] : format
  // Parquet compresses within itself; a packed one cannot be read from its end, as it must be.
  if (found === undefined || (found === 'parquet' && compression !== 'none')) return undefined
  return { format: found, compression }
}

export function compressionOf(path: string): Compression {
  const name = path.toLowerCase()
  if (name.endsWith('.gz')) return 'gzip'
  return name.endsWith('.zst') ? 'zstd' : 'none'
}

export function withoutCompression(path: string): string {
  return path.replace(/\.(gz|zst)$/i, '')
}
