/** Documents in, and the kept ones out: in the same formats, streaming, whatever the size. */

export type {
  Compression,
  Document,
  InputFile,
  InputFormat,
  Reject,
  RejectReason,
  Shard,
} from './document.ts'
export { isReject } from './document.ts'
export { LEADS_OUTSIDE, type Skipped } from './find-files.ts'
export { type Listing, listShards } from './list-shards.ts'
export { type KeptWriter, openWriter, outputName, type Written } from './open-writer.ts'
export {
  type FieldNames,
  inputFormats,
  type ListingInput,
  listingOptions,
  type ReadingInput,
  readingOptions,
  type WritingInput,
  writingOptions,
} from './options.ts'
export { readLendingTexts, readShard } from './read-shard.ts'
export { utf8Of } from './document.ts'
