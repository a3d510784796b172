/**
 * Resolves texts and near duplicates of them, many at once, until its files may grow no more and a group fails and
 * is tried again one by one. Then all are looked up: what was refused must not be found, what was told must be, and
 * no two of a kind may have been told to be new. Arguments: directory, durability.
 */

import { seededRandom } from '../../dist/backends/simulated/backend.js'
import { openResolver } from '../../dist/index.js'

const GROUP = 30
const [directory, durability] = process.argv.slice(2)
const resolver = await openResolver(directory, { durability, profile: 'chars-8', cacheMax: 0 })
const random = seededRandom(1)

function newText() {
  let text = ''
  while (text.length < 4000) text += random().toString(36).slice(2)
  return text
}

const told = new Set()
const codes = new Set()
const texts = []
let twice = 0
while (told.size === texts.length && texts.length < 3000) {
  const group = Array.from({ length: GROUP }, newText)
  texts.push(...group)
  const near = group.map((text) => `${text}.`)
  const items = [...group, ...near].map((value) => ({ group: 'g', value }))
  const outcomes = await resolver.resolveMany(items)
  group.forEach((text, at) => {
    const both = [outcomes[at], outcomes[at + GROUP]]
    for (const outcome of both) {
      if (outcome.ok) told.add(text)
      else codes.add(outcome.error.code)
    }
    if (both.every((outcome) => outcome.ok && outcome.result.status === 'new')) twice++
  })
}
let lost = 0
let phantoms = 0
for (const text of texts) {
  const found = await resolver.lookup('g', `${text}!`)
  if (told.has(text) && found?.status !== 'match') lost++
  if (!told.has(text) && found) phantoms++
}
const { clusters } = await resolver.stats('g')
await resolver.close()
const isExact = clusters === told.size
const isPartial = told.size > 0 && told.size < texts.length
console.log(JSON.stringify({ codes: [...codes], isPartial, isExact, lost, phantoms, twice }))
