/** Documents in, and the kept ones out: in the same formats, streaming, whatever the size. */

export { type Cuts, type CutSpans, cutText } from './cut-text.ts'
export type { Columns } from './columns-writer.ts'
export { CsvParser } from './csv-parser.ts'
export type { Document, InputFile, Reject, Shard } from './document.ts'
export { isReject } from './document.ts'
export { LEADS_OUTSIDE } from './find-files.ts'
export { type Listing, listShards } from './list-shards.ts'
export { type KeptWriter, openColumns, openWriter, outputName } from './open-writer.ts'
export { type ListingInput, listingOptions, type ReadingInput, readingOptions } from './options.ts'
export { readLendingTexts, readShard } from './read-shard.ts'
export { utf8Of } from './document.ts'
