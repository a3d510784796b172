/** Documents in, and the kept ones out: in the same formats, streaming, whatever the size. */

export { type Cuts, type CutSpans, cutText, NO_CUTS } from './cut-text.ts'
export {
  type ConvertedFormat,
  convertedName,
  convertKept,
  kindOfConverted,
  numberedName,
  type OutputFormat,
  outputFormats,
  OWN_READING,
} from './convert.ts'
export type { Columns } from './columns-writer.ts'
export { CsvParser } from './csv-parser.ts'
export type { Compression, Document, InputFile, InputFormat, Reject, Shard } from './document.ts'
export { isReject, placeOfReject, unitOf } from './document.ts'
export { HIDDEN, LEADS_OUTSIDE, type Skipped, sourceOfInput } from './find-files.ts'
export { LineScanner } from './line-scanner.ts'
export { type Listing, listShards, type NamedInput, UNKNOWN_EXTENSION } from './list-shards.ts'
export { type KeptWriter, openColumns, openWriter, outputName } from './open-writer.ts'
export { DocumentNames, writeTexts } from './texts-writer.ts'
export { canCompress, requireOther, type Splitting, type WrittenFile } from './output-file.ts'
export {
  type ListingInput,
  listingOptions,
  type ReadingInput,
  readingOptions,
  type WritingInput,
} from './options.ts'
export { wholeShard } from './ranges.ts'
export { plainBlocks } from './plain-blocks.ts'
export { sourcesIn } from './make-document.ts'
export { readLendingTexts, readShard } from './read-shard.ts'
export { utf8Of, withUtf8 } from './document.ts'
