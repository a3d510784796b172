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
export const inputFormats = [
  'auto',
  'jsonl',
  'json',
  'parquet',
  'csv',
  'tsv',
  'lines',
  'files',
] as const

/** Where the source of a document comes from that names none. */
export const sourceRules = ['arguments', 'files'] as const

/** How inputs are found, and split into shards. */
export interface ListingInput {
  /** What the files are: `auto` goes by the extension of each. Default: `auto`. */
  readonly format?: (typeof inputFormats)[number] | undefined
  /** The directory that ids and outputs are named below. Default: the nearest common one. */
  readonly root?: string | undefined
  /** Follow symbolic links to files outside the directory they are found in. Default: `false`. */
  readonly followSymlinks?: boolean | undefined
  /**
   * `arguments`: the source of a document is the input it was found under, and inputs are read in the order given.
   * `files`: it is the name of its file without extensions, and files are read in the order of their paths. Default:
   * `arguments`.
   */
  readonly sources?: (typeof sourceRules)[number] | undefined
  /** Large files of lines are split into ranges of about this many bytes. Default: 16 MiB. */
  readonly shardBytes?: number | undefined
  /** Files in one shard of small files, at most. Default: 1024. */
  readonly shardFiles?: number | undefined
  /** Count lines while splitting, so that ids and messages name lines instead of bytes. Default: `true`. */
  readonly countLines?: boolean | undefined
}

/** The fields of a record; `a.b` is b inside a. */
export interface FieldOptions {
  /** The field of the text. Default: `text`. */
  readonly text?: string | undefined
  /** The field of the id. Where it is missing, an id is derived. Default: `id`. */
  readonly id?: string | undefined
  /** The field of the source. Default: none. */
  readonly source?: string | undefined
  /** The field of the language. Default: none. */
  readonly language?: string | undefined
  /** The field of the time: ISO 8601, or seconds or milliseconds since 1970. Default: none. */
  readonly time?: string | undefined
  /** The field of the quality: a number. Default: none. */
  readonly quality?: string | undefined
  /** The field of the document type. Default: none. */
  readonly type?: string | undefined
}

/** How documents are read from inputs. */
export interface ReadingInput {
  /** Names of the fields of a record. */
  readonly fields?: FieldOptions | undefined
  /** The source of documents that name none. Default: the input they were found under. */
  readonly source?: string | undefined
  /** Positions to pass over. Default: 0. */
  readonly resume?: number | undefined
  /** Longer lines, rows and files, in bytes, are rejected, and never held in memory. Default: 64 MiB. */
  readonly lineBytesMax?: number | undefined
  /** A compressed file is not read further once it has expanded to this many times its size. Default: 200. */
  readonly expansionMax?: number | undefined
  /** So many bytes may come of any compressed file, however small it is. Default: 512 MiB. */
  readonly expandedBytesFree?: number | undefined
  /** Documents and rejects in one batch, at most. Default: 512. */
  readonly batchDocuments?: number | undefined
  /** Bytes in one batch, about. Default: 4 MiB. */
  readonly batchBytes?: number | undefined
  /** Fields of CSV and TSV may be in double quotes. Default: `true`. */
  readonly hasQuotes?: boolean | undefined
}

export const listingOptions = v.strictObject({
  format: v.optional(
    oneOf(
      inputFormats,
      'Format of the files. auto: by extension. json: an array, lines, or one document. lines: one document per line. files: one per file.',
    ),
    'auto',
  ),
  root: v.optional(
    text('Directory that ids and outputs are relative to. Default: the nearest common directory.'),
  ),
  followSymlinks: v.optional(flag('Follow symbolic links that lead out of the inputs.'), false),
  sources: v.optional(
    oneOf(
      sourceRules,
      'Source of documents that have none: the input they were found under (arguments), or the name of their file (files; files are then read in the order of their paths).',
    ),
    'arguments',
  ),
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
}) satisfies v.GenericSchema<ListingInput>

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
  source: v.optional(
    text('Source of documents that have none. Default: the input they were found under.'),
  ),
  resume: v.optional(whole(0, Number.MAX_SAFE_INTEGER, 'Positions to pass over.'), 0),
  lineBytesMax: v.optional(
    whole(
      16,
      512 * MEBIBYTE,
      'Longer lines, rows and files are rejected without being read into memory.',
    ),
    64 * MEBIBYTE,
  ),
  expansionMax: v.optional(
    whole(
      1,
      1_000_000,
      'A compressed file is not read further once it has expanded to this many times its size and to 512 MiB.',
    ),
    200,
  ),
  expandedBytesFree: v.optional(
    whole(0, 2 ** 40, 'So many bytes may come of any compressed file, however small it is.'),
    512 * MEBIBYTE,
  ),
  batchDocuments: v.optional(
    whole(1, 1_000_000, 'Documents and rejects in one batch, at most.'),
    512,
  ),
  batchBytes: v.optional(whole(1, 1024 * MEBIBYTE, 'Bytes in one batch, about.'), 4 * MEBIBYTE),
  hasQuotes: v.optional(flag('Fields of CSV and TSV may be in double quotes.'), true),
}) satisfies v.GenericSchema<ReadingInput>

export const writingOptions = v.strictObject({
  directory: text('Where outputs are written, under the names of the inputs.'),
  fields: v.optional(fields, {}),
  lineBytesMax: v.optional(whole(16, 512 * MEBIBYTE, 'As it was when reading.'), 64 * MEBIBYTE),
  hasQuotes: v.optional(flag('As it was when reading.'), true),
})

export type ListingOptions = v.InferOutput<typeof listingOptions>
export type ReadingOptions = v.InferOutput<typeof readingOptions>
export type WritingInput = v.InferInput<typeof writingOptions>
export type WritingOptions = v.InferOutput<typeof writingOptions>
