/**
 * Writes documents in a format that their input does not have: `id`, `source`, `text`, and the other fields of their
 * record. JSON lines have these as fields; CSV and Parquet have one more column, `fields`, with the rest as JSON, so
 * that all outputs have the same columns.
 *
 * What was written so can be read as input again and gives the same bytes: outputs are rewritten from themselves.
 */

import { readOptions } from '../platform/options.ts'
import { type Cuts, cutText } from './cut-text.ts'
import { type Document, isReject, type Shard } from './document.ts'
import { withoutCompression } from './formats.ts'
import { KeptPositions } from './kept-positions.ts'
import { readingOptions, type ReadingInput } from './options.ts'
import { RecordsOutput, type Splitting, type WrittenFile } from './output-file.ts'
import { packedOf, plain, type RawFields, rawFields } from './raw-fields.ts'
import { readShard } from './read-shard.ts'

export const outputFormats = ['same', 'jsonl', 'jsonl.gz', 'csv', 'parquet', 'files'] as const
export type OutputFormat = (typeof outputFormats)[number]
export type ConvertedFormat = Exclude<OutputFormat, 'same'>

/** Documents of a shard, or of an output that was converted before. */
export interface ConvertedPart {
  readonly shard: Shard
  /** In ascending order. */
  readonly positions: readonly number[]
  readonly cuts: Cuts
  readonly reading: ReadingInput
}

/** How an output that was converted is read. */
export const OWN_READING: ReadingInput = {
  fields: { text: 'text', id: 'id', source: 'source' },
  lineBytesMax: 512 * 1024 * 1024,
}

export interface ConvertedRecord {
  readonly id: string
  readonly source: string
  readonly text: string
  readonly others: RawFields
}

/** `like`: a file whose permissions the output gets. */
export async function convertKept(
  path: string,
  format: Exclude<ConvertedFormat, 'files'>,
  parts: readonly ConvertedPart[],
  like: string,
  splitting?: Splitting,
): Promise<readonly WrittenFile[]> {
  const compression = format === 'jsonl.gz' ? 'gzip' : 'none'
  const output = await RecordsOutput.open(path, compression, like, splitting)
  try {
    const sink = await openSink(output, format)
    for (const part of parts) {
      for await (const record of recordsOf(part)) await sink.write(record)
    }
    await sink.end()
  } catch (error) {
    await output.abort()
    throw error
  }
  await output.close()
  return output.files
}

export async function* recordsOf(part: ConvertedPart): AsyncGenerator<ConvertedRecord> {
  const { shard, positions, cuts } = part
  const reading = readOptions(readingOptions, part.reading, 'reading')
  const isOwn = part.reading === OWN_READING
  const kept = new KeptPositions(positions)
  const raw = rawFields(shard, positions, reading)
  for await (const items of readShard(shard, part.reading)) {
    for (const item of items) {
      if (!kept.has(item.position) || isReject(item)) continue
      const { value } = await raw.next()
      const fields: RawFields = value ?? {}
      const others = isOwn ? ownOthers(fields, shard) : othersOf(fields, reading.fields)
      yield { ...namesOf(item), text: textOf(item, cuts), others }
    }
    if (kept.isDone) return
  }
  kept.requireDone(shard.path)
}

function namesOf({ id, source }: Document): Pick<Document, 'id' | 'source'> {
  return { id, source }
}

function textOf({ text, position }: Document, cuts: Cuts): string {
  const spans = cuts.get(position)
  return spans ? cutText(Buffer.from(text), spans).toString('utf8') : text
}

const NAMES: ReadonlySet<string> = new Set(['id', 'source', 'text'])

/** Without those that the document was made of. Another of such a name gets `original_` before it. */
function othersOf(
  fields: RawFields,
  { text, id, source }: { text: string; id: string; source?: string | undefined },
): RawFields {
  for (const name of [text, id, source]) if (name !== undefined) removeAt(fields, name)
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      NAMES.has(name) ? `original_${name}` : name,
      value,
    ]),
  )
}

function removeAt(fields: RawFields, name: string): void {
  if (Object.hasOwn(fields, name)) {
    delete fields[name]
    return
  }
  const [first = '', ...rest] = name.split('.')
  const inner = fields[first]
  if (rest.length === 0 || typeof inner !== 'object' || inner === null) return
  const copy: RawFields = { ...inner }
  removeAt(copy, rest.join('.'))
  if (Object.keys(copy).length > 0) fields[first] = copy
  else delete fields[first]
}

/** CSV and Parquet have them in one column. */
function ownOthers(
  { id: _id, source: _source, text: _text, ...others }: RawFields,
  { format }: Shard,
): RawFields {
  if (format === 'jsonl') return others
  const { fields } = others
  // safe: packedOf wrote an object
  return typeof fields === 'string' && fields !== '' ? (JSON.parse(fields) as RawFields) : {}
}

interface Sink {
  write(record: ConvertedRecord): Promise<void>
  end(): Promise<void>
}

async function openSink(output: RecordsOutput, format: ConvertedFormat): Promise<Sink> {
  if (format === 'parquet') {
    const { ParquetSink } = await import('./parquet-sink.ts')
    return new ParquetSink(output)
  }
  const header = format === 'csv' ? 'id,source,text,fields\n' : ''
  await output.write(header)
  const lineOf = format === 'csv' ? csvLine : jsonLine
  return {
    write: async (record) => {
      const line = Buffer.from(`${lineOf(record)}\n`)
      if (output.add(line.length)) {
        await output.startNext()
        await output.write(header)
      }
      await output.write(line)
    },
    end: () => Promise.resolve(),
  }
}

function jsonLine({ id, source, text, others }: ConvertedRecord): string {
  return JSON.stringify({ id, source, text, ...others }, plain)
}

function csvLine(record: ConvertedRecord): string {
  return [record.id, record.source, record.text, packedOf(record)].map(quoted).join(',')
}

function quoted(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

/**
 * `web/a.jsonl.gz` → `web/a.parquet`. With `files`, a file of many documents is a directory, `web/a`, and one of one
 * document (`isOne`) keeps its extension, unless that is JSON.
 */
export function convertedName(path: string, format: ConvertedFormat, isOne: boolean): string {
  const plainName = withoutCompression(path)
  const stem = plainName.replace(/\.(?:jsonl?|ndjson|parquet|csv|tsv|txt|md)$/i, '')
  if (format !== 'files') return `${stem}.${format}`
  if (!isOne) return stem
  return /\.(?!jsonl?$|ndjson$)[^./]+$/i.test(plainName) ? plainName : `${stem}.txt`
}

/** `web/a.jsonl.gz` → `web/a-00002.jsonl.gz`. */
export function numberedName(name: string, number: number): string {
  const [, stem = name, extension = ''] =
    /^(.*?[^/])((?:\.[^./]+?)?(?:\.(?:gz|zst))?)$/i.exec(name) ?? []
  return `${stem}-${String(number).padStart(5, '0')}${extension}`
}

/** What an output of this format is as an input. */
export function kindOfConverted(format: ConvertedFormat): Pick<Shard, 'format' | 'compression'> {
  if (format === 'jsonl.gz') return { format: 'jsonl', compression: 'gzip' }
  return { format, compression: 'none' }
}
