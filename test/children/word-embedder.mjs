/** For processes that compare meanings without a model: a text is the sum of a direction for each of its words. */

import { createHash } from 'node:crypto'

export function wordEmbedder(dimensions) {
  return {
    id: `words-${dimensions}`,
    dimensions,
    async embed(texts) {
      return texts.map((text) => vectorOf(text, dimensions))
    },
  }
}

function vectorOf(text, dimensions) {
  const sums = new Float32Array(dimensions)
  for (const word of text.split(' ')) {
    const bytes = createHash('sha512').update(word).digest()
    for (let at = 0; at < dimensions; at++) sums[at] += ((bytes[at % 64] ^ (at * 7)) & 255) - 127.5
  }
  return sums
}
