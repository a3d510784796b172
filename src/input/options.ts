/** Options of listing, reading and writing. Read once, at the edge; unknown names are refused. */

import * as v from 'valibot'

import { flag, oneOf } from '../platform/options.ts'

const MEBIBYTE = 1024 * 1024

function whole(min: number, max: number, help: string): v.GenericSchema<number> {
  return v.pipe(
    v.number('must be a number'),
    v.check(
      (value) => Number.isSafeInteger(value) && value >= min && value <= max,
      `must be a whole number from ${min} to ${max}`,
    ),
    v.description(help),
  )
}

const text = (help: string): v.GenericSchema<string> =>
  v.pipe(v.string('must be a string'), v.minLength(1, 'must not be empty'), v.description(help))

/** What can be asked for; `auto` goes by the extension of each file. */
export const inputFormats = ['auto', 'jsonl', 'parquet', 'csv', 'tsv', 'lines', 'files'] as const

export const listingOptions = v.strictObject({
  format: v.optional(
    oneOf(
      inputFormats,
      'Format of the files. auto: by extension. lines: one document per line. files: one per file.',
    ),
    'auto',
  ),
  root: v.optional(
    text('Directory that ids and outputs are relative to. Default: the nearest common directory.'),
  ),
  followSymlinks: v.optional(flag('Follow symbolic links that lead out of the inputs.'), false),
  shardBytes: v.optional(
    whole(1, 2 ** 40, 'Files of lines are split into ranges of about this many bytes.'),
    16 * MEBIBYTE,
  ),
  shardFiles: v.optional(whole(1, 1_000_000, 'Files in one shard of small files, at most.'), 1024),
  countLines: v.optional(
    flag(
      'Count lines while splitting, so that ids and messages have line numbers instead of offsets.',
    ),
    true,
  ),
})

const fields = v.strictObject({
  text: v.optional(text('Field of the text.'), 'text'),
  id: v.optional(
    text('Field of the id. Documents without one get an id from their file and line.'),
    'id',
  ),
  source: v.optional(text('Field of the source.')),
  language: v.optional(text('Field of the language.')),
  time: v.optional(text('Field of the time: ISO 8601, or seconds or milliseconds since 1970.')),
  quality: v.optional(text('Field of the quality: a number.')),
  type: v.optional(text('Field of the document type.')),
})

export const readingOptions = v.strictObject({
  fields: v.optional(fields, {}),
  source: v.optional(text('Source of documents that have none. Default: the name of their file.')),
  resume: v.optional(whole(0, Number.MAX_SAFE_INTEGER, 'Positions to pass over.'), 0),
  lineBytesMax: v.optional(
    whole(
      16,
      512 * MEBIBYTE,
      'Longer lines, rows and files are rejected without being read into memory.',
    ),
    64 * MEBIBYTE,
  ),
  batchDocuments: v.optional(
    whole(1, 1_000_000, 'Documents and rejects in one batch, at most.'),
    512,
  ),
  batchBytes: v.optional(whole(1, 1024 * MEBIBYTE, 'Bytes in one batch, about.'), 4 * MEBIBYTE),
  hasQuotes: v.optional(flag('Fields of CSV and TSV may be in double quotes.'), true),
})

export const writingOptions = v.strictObject({
  directory: text('Where outputs are written, under the names of the inputs.'),
  lineBytesMax: v.optional(whole(16, 512 * MEBIBYTE, 'As it was when reading.'), 64 * MEBIBYTE),
  hasQuotes: v.optional(flag('As it was when reading.'), true),
})

export type ListingInput = v.InferInput<typeof listingOptions>
export type ListingOptions = v.InferOutput<typeof listingOptions>
export type ReadingInput = v.InferInput<typeof readingOptions>
export type ReadingOptions = v.InferOutput<typeof readingOptions>
export type FieldNames = v.InferOutput<typeof fields>
export type WritingInput = v.InferInput<typeof writingOptions>
export type WritingOptions = v.InferOutput<typeof writingOptions>
