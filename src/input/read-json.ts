/** Documents of a JSON file: the elements of its array, or its values one after another. */

import { Batch } from './batch.ts'
import type { Document, Reject, Shard } from './document.ts'
import { JsonStrings } from './json-string.ts'
import { DocumentMaker } from './make-document.ts'
import type { ReadingOptions } from './options.ts'
import { readPiece } from './read-lines.ts'
import { ShardValues } from './shard-values.ts'
import { truncated, Unfit } from './unfit.ts'

type Items = readonly (Document | Reject)[]

export async function* readJson(
  shard: Shard,
  options: ReadingOptions,
  isLending: boolean,
): AsyncGenerator<Items> {
  const maker = new DocumentMaker(shard, options)
  const strings = new JsonStrings(isLending)
  const values = new ShardValues(shard, options.lineBytesMax, options)
  const batch = new Batch(options)
  let position = 0
  let problem: string | undefined
  // Several values may be in one line, so it is their number that names them.
  const place = () => ({ position, line: position + 1, offset: 0 })
  for await (const scanner of values.scan()) {
    while (scanner.next()) {
      const { bytes } = scanner
      const isWanted = position >= options.resume
      const item = isWanted && readPiece(maker, scanner, bytes, place(), strings)
      position++
      if (item && batch.add(item, bytes.length)) {
        yield batch.take()
        if (isLending) strings.takeBack()
      }
    }
    problem = scanner.problem
  }
  const end = values.damage ? truncated(values.damage, 0) : problem && notJson(problem)
  if (end && position >= options.resume) batch.add(maker.reject(place(), end, ''), 0)
  if (!batch.isEmpty) yield batch.take()
}

function notJson(problem: string): Unfit {
  const message = `the file is not JSON from here on: ${problem}`
  return new Unfit('truncated', `${message}. What was read before is good; repair the file`)
}
