/**
 * One of several processes that resolve the same texts in one directory, in an order of its own.
 * Arguments: directory, file of the texts (JSON), seed, how many at once.
 */

import { readFile } from 'node:fs/promises'

import { openResolver } from '../../dist/index.js'
import { seededRandom } from '../../dist/backends/simulated/backend.js'

const [directory, file, seed, lanes] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const texts = JSON.parse(await readFile(file, 'utf8'))
const left = texts
  .map((text) => ({ text, at: random() }))
  .toSorted((one, other) => one.at - other.at)
  .map(({ text }) => text)
const resolver = await openResolver(directory, { durability: 'os', cacheMax: 0 })
console.log('ready')

/** Now and then something is forgotten, so that others have to notice. */
async function lane() {
  for (let text = left.pop(); text !== undefined; text = left.pop()) {
    await resolver.resolve('g', text)
    if (random() < 0.02) await resolver.delete('g', text)
    if (random() < 0.05) await resolver.lookup('g', texts[Math.floor(random() * texts.length)])
  }
}

await Promise.all(Array.from({ length: Number(lanes) }, lane))
await resolver.close()
