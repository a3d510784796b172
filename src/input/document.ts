/**
 * What input is made of: documents, what could not become one, and the shards both are read from.
 *
 * Invariant: a shard read twice gives the same documents and rejects at the same positions. Shards are plain
 * data, so that they can be sent to a worker thread and kept in a file.
 */

export interface Document {
  /**
   * Given by the input, or derived: `path` for a file, `path#12` for its twelfth line or row, `path@4711` for
   * the line that begins at that byte where lines were not counted.
   */
  readonly id: string
  /** From its field, from the option, or of its shard: the input it was found under. */
  readonly source: string
  readonly text: string
  readonly language?: string
  /** Milliseconds since 1970. */
  readonly time?: number
  readonly quality?: number
  readonly type?: string
  /** Which of the shard's documents and rejects this is, from 0. */
  readonly position: number
  /** The line or row where it begins, from 1, for people. Of a range whose lines were not counted: of the range. */
  readonly line: number
}

export type RejectReason =
  | 'invalid-json'
  | 'invalid-utf8'
  | 'nul-byte'
  | 'missing-field'
  | 'wrong-type'
  | 'too-long'
  | 'truncated'
  | 'invalid-csv'
  | 'unreadable'

/** A piece of input that is no document, and why. */
export interface Reject {
  readonly position: number
  readonly line: number
  readonly reason: RejectReason
  /** Says the place within it, and what to do. */
  readonly message: string
  /** How it begins, with what cannot be printed replaced. */
  readonly sample: string
  /** The file, of a shard of many files. */
  readonly path?: string
}

/** `json`: an array of documents, or documents one after another; `files`: one document per file. */
export type InputFormat = 'jsonl' | 'json' | 'parquet' | 'csv' | 'tsv' | 'lines' | 'files'
export type Compression = 'none' | 'gzip' | 'zstd'

/** A file as it was when it was listed. */
export interface InputFile {
  /** Where it is opened. */
  readonly file: string
  /** Its name in ids and outputs: below the root of the inputs, with `/`. */
  readonly path: string
  readonly fileBytes: number
  readonly modifiedMs: number
  /** Names its output, where that has another format. */
  readonly output?: string
  /** Of an object on S3: another one whenever it is written. */
  readonly etag?: string | undefined
}

/** A piece of input that one worker reads from its beginning to its end. */
export interface Shard extends InputFile {
  /** In the order of the inputs. */
  readonly index: number
  readonly format: InputFormat
  readonly compression: Compression
  /** Bytes for uncompressed `jsonl` and `lines`, row groups for `parquet`, files for `files`; else the whole. */
  readonly start: number
  readonly end: number
  /** What is read of the disk: of a range its length, of small files their sum. */
  readonly bytes: number
  /** The line or row number of the first that begins in it, where known. */
  readonly firstLine?: number
  /** The files of a `files` shard; the rest of `InputFile` is then of the first. */
  readonly files?: readonly InputFile[]
  /** Source of documents that name none. Without it, the name of their file. */
  readonly source?: string
  /** The files of a `files` shard are JSON: each is one document with fields. */
  readonly isJson?: true
}

/** What `line` counts in a format, where that is not lines. */
export function unitOf(format: InputFormat): { unit?: 'element' | 'row' } {
  if (format === 'json') return { unit: 'element' }
  return format === 'parquet' ? { unit: 'row' } : {}
}

/** `a.jsonl, line 12`, `a.json, element 2`, or `a.txt`, which is one document. */
export function placeOfReject({ path: own, format }: Shard, { path = own, line }: Reject): string {
  return format === 'files' ? path : `${path}, ${unitOf(format).unit ?? 'line'} ${line}`
}

export function isReject(item: Document | Reject): item is Reject {
  return 'reason' in item
}

const UTF8 = Symbol('utf8')

interface Utf8Text {
  readonly utf8: Buffer
  text: string | undefined
}

interface HasUtf8 {
  readonly [UTF8]?: Utf8Text
}

/** One for all documents: with one of its own each, no two of them would have the same shape. */
const LAZY_TEXT = {
  enumerable: true,
  get(this: HasUtf8): string | undefined {
    const held = this[UTF8]
    return held && (held.text ??= held.utf8.toString('utf8'))
  },
}

/**
 * The document with this text, which is UTF-8 and becomes a string only if somebody asks for it. One that had a text
 * before would become a slow object.
 */
export function withUtf8<D extends Omit<Document, 'text'>>(
  document: D,
  utf8: Buffer,
): D & Pick<Document, 'text'> {
  Object.defineProperty(document, UTF8, { value: { utf8, text: undefined } })
  return Object.defineProperty(document, 'text', LAZY_TEXT) as D & Pick<Document, 'text'> // safe: it has one now
}

/** The text in UTF-8, where the reader had it so. */
export function utf8Of(document: object): Buffer | undefined {
  // safe: only `withUtf8` knows the symbol
  return (document as HasUtf8)[UTF8]?.utf8
}
