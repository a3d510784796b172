/**
 * Puts texts into a semantic store and saves its index all the time, until it is killed. Says every key that was
 * acknowledged, and when a save begins.
 *
 * Arguments: directory, first number.
 */

import { writeSync } from 'node:fs'

import { openStore } from '../../dist/index.js'
import { wordEmbedder } from './word-embedder.mjs'

const [directory, first] = process.argv.slice(2)

const embedder = wordEmbedder(256)
const store = await openStore(directory, {
  dedup: 'semantic',
  durability: 'os',
  semantic: { embedder, threshold: 0.8 },
})
const letters = (number) => String(number).replaceAll(/\d/g, (digit) => 'abcdefghij'[digit])
for (let at = Number(first); ; at++) {
  const words = Array.from(
    { length: 12 },
    (_, word) => `${letters(Math.floor(at / 2))}w${letters(word)}`,
  )
  if (at % 2 === 1) words[11] = 'changed'
  const receipt = await store.put(`key ${at}`, words.join(' '))
  writeSync(1, `${JSON.stringify({ at, text: words.join(' '), content: receipt.content })}\n`)
  if (at % 20 === 0) {
    writeSync(1, '"saving"\n')
    await store.collect()
  }
}
