/**
 * Puts texts into a semantic store and saves its index all the time, until it is killed. Says every key that was
 * acknowledged, and when a save begins.
 *
 * Arguments: directory, first number.
 */

import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'

import { openStore } from '../../dist/index.js'

const [directory, first] = process.argv.slice(2)

const embedder = {
  id: 'words-256',
  dimensions: 256,
  async embed(texts) {
    return texts.map((text) => {
      const sums = new Float32Array(256)
      for (const word of text.split(' ')) {
        const bytes = createHash('sha512').update(word).digest()
        for (let at = 0; at < 256; at++) sums[at] += ((bytes[at % 64] ^ (at * 7)) & 255) - 127.5
      }
      return sums
    })
  },
}

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
