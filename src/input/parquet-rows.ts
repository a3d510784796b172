/** Rows of a Parquet file as they are stored, and not as they are understood: without logical types. */

import { type Compressors, parquetRead, type SchemaElement } from 'hyparquet'

import type { ParquetFile } from './parquet-file.ts'

export type Row = readonly unknown[]

export async function readRows(
  { file, metadata }: ParquetFile,
  columns: string[],
  rowStart: number,
  rowEnd: number,
  compressors: Compressors,
): Promise<readonly Row[]> {
  let rows: readonly Row[] = []
  await parquetRead({
    file,
    metadata: { ...metadata, schema: physical(metadata.schema) },
    rowStart,
    rowEnd,
    columns,
    compressors,
    utf8: false,
    parsers: { timestampFromNanoseconds: (nanos: bigint) => nanos },
    onComplete: (read) => {
      rows = read
    },
  })
  return rows
}

/** Leaves without logical types; lists and maps keep theirs, which shape the rows, and so do the keys of maps. */
export function physical(schema: readonly SchemaElement[]): SchemaElement[] {
  return schema.map((element, at) => {
    const isMapKey = element.name === 'key' && schema[at - 2]?.converted_type === 'MAP'
    const shapes = element.converted_type === 'LIST' || element.converted_type === 'MAP'
    if (isMapKey || shapes) return element
    const { converted_type: _converted, logical_type: _logical, ...bare } = element
    return bare
  })
}
