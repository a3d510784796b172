/**
 * What the job is held against, in a process of its own: sketches of the same texts, and nothing else.
 *
 * Texts are read and parsed beforehand, block by block, and that does not count. `whole`: text in, canonical form,
 * sketch, as anybody does it who wants what the job compares by. `kernel`: canonical forms that lie ready, so the
 * sketch alone. Both use the built package, as its users do.
 */

import { closeSync, openSync, readSync } from 'node:fs'

import type { CanonicalProfile } from '../../src/canonical/index.ts'
import type { SimilaritySketch, SketchOptions } from '../../src/fingerprint/index.ts'

const BLOCK_BYTES = 32 * 1024 * 1024
const NEWLINE = 10

export interface SketchesAlone {
  readonly documents: number
  readonly bytes: number
  readonly wholeSeconds: number
  readonly kernelSeconds: number
}

interface Built {
  readonly canonicalProfile: (name: string) => CanonicalProfile
  readonly sketchOf: (text: Uint8Array, options: SketchOptions) => SimilaritySketch
}

async function built(): Promise<Built> {
  const at = (name: string) => new URL(`../../dist/${name}/index.js`, import.meta.url).href
  const [canonical, fingerprint] = [await import(at('canonical')), await import(at('fingerprint'))]
  return { ...canonical, ...fingerprint }
}

function* blocksOf(file: string): Generator<string[]> {
  const descriptor = openSync(file, 'r')
  const block = Buffer.allocUnsafe(BLOCK_BYTES)
  let held = 0
  for (;;) {
    const got = readSync(descriptor, block, held, block.length - held, null)
    const end = got === 0 ? held : block.lastIndexOf(NEWLINE, held + got - 1) + 1
    const lines = block.toString('utf8', 0, end).split('\n')
    const texts = lines.filter((line) => line !== '').map((line) => textIn(line))
    if (texts.length > 0) yield texts
    block.copyWithin(0, end, held + got)
    held = held + got - end
    if (got === 0) break
  }
  closeSync(descriptor)
}

function textIn(line: string): string {
  const { text } = JSON.parse(line) as { text: string } // safe: the corpus is ours
  return text
}

function cpuSeconds(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

async function main([slots, ...files]: string[]): Promise<SketchesAlone> {
  const { canonicalProfile, sketchOf } = await built()
  const { canonicalise } = canonicalProfile('unicode')
  const options: SketchOptions = { profile: 'auto', slots: Number(slots) }
  const sum = { documents: 0, bytes: 0, wholeSeconds: 0, kernelSeconds: 0 }
  let seen = 0
  for (const file of files) {
    for (const texts of blocksOf(file)) {
      sum.documents += texts.length
      sum.wholeSeconds += cpuSeconds(() => {
        for (const text of texts)
          seen += sketchOf(canonicalise(Buffer.from(text)), options).shingles
      })
      const forms = texts.map((text) => canonicalise(Buffer.from(text)))
      sum.bytes += texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0)
      sum.kernelSeconds += cpuSeconds(() => {
        for (const form of forms) seen += sketchOf(form, options).shingles
      })
    }
  }
  if (seen === 0) throw new Error('There was nothing to sketch.')
  return sum
}

process.stdout.write(JSON.stringify(await main(process.argv.slice(2))))
