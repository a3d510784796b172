/** Which known models are installed, and whether their files have the digests they were published with. */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'

import { packageDirectory } from './locate.ts'
import { models } from './models.ts'

export interface ModelReport {
  readonly model: string
  readonly package: string
  readonly precision: string
  readonly dimensions: number
  readonly tokensMax: number
  readonly state: 'sound' | 'damaged' | 'missing'
  /** Where it is installed. */
  readonly directory?: string
  /** What the weights must be. */
  readonly weightsSha256: string
}

export async function modelReports(
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<ModelReport[]> {
  const reports: ModelReport[] = []
  for (const { id, dimensions, tokensMax, packages } of models) {
    for (const one of packages) {
      const root = packageDirectory(one.name)
      const directory = root === undefined ? undefined : join(root, one.directory)
      const files = [
        [one.weights, one.weightsSha256],
        ['tokenizer.json', one.tokenizerSha256],
      ] as const
      let state: ModelReport['state'] = directory === undefined ? 'missing' : 'sound'
      for (const [file, expected] of directory === undefined ? [] : files) {
        options.signal?.throwIfAborted()
        if ((await digestOf(join(directory ?? '', file))) !== expected) state = 'damaged'
      }
      reports.push({
        model: id,
        package: one.name,
        precision: one.precision,
        dimensions,
        tokensMax,
        state,
        ...(directory !== undefined && { directory }),
        weightsSha256: one.weightsSha256,
      })
    }
  }
  return reports
}

/** `undefined`: it cannot be read. */
async function digestOf(path: string): Promise<string | undefined> {
  const hash = createHash('sha256')
  try {
    for await (const piece of createReadStream(path)) hash.update(piece)
  } catch {
    return undefined
  }
  return hash.digest('hex')
}
