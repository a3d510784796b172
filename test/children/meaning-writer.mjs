/**
 * One of several processes with the same things to say, each in its own words: puts them into a store, resolves their
 * vectors and caches answers to them, all on one server. Says which id the resolver gave to each.
 *
 * Arguments: location, name of the process (a number), things.
 */

import { writeSync } from 'node:fs'

import { openCache } from '../../dist/exports/cache.js'
import { openResolver, openStore } from '../../dist/index.js'
import { wordEmbedder } from './word-embedder.mjs'

const [location, name, things] = process.argv.slice(2).map((text, at) => (at ? Number(text) : text))
const embedder = wordEmbedder(256)
const meaning = { threshold: 0.85, guards: false }

/** Of 48 words one is of this process alone: two versions have a cosine of about 0.96. */
const letters = (number) => String(number).replaceAll(/\d/g, (digit) => 'abcdefghij'[digit])
const textOf = (thing) =>
  Array.from({ length: 48 }, (_, at) =>
    at === name ? `own${letters(name)}${letters(thing)}` : `${letters(thing)}w${letters(at)}`,
  ).join(' ')

const store = await openStore(location, {
  namespace: 'store',
  dedup: 'semantic',
  semantic: { embedder, ...meaning },
})
const resolver = await openResolver(location, {
  namespace: 'resolver',
  vector: { dimensions: embedder.dimensions, threshold: meaning.threshold },
})
const cache = await openCache(location, { namespace: 'cache', model: embedder, ...meaning })

async function say(thing) {
  const text = textOf(thing)
  const [vector] = await embedder.embed([text])
  const [, { id }] = await Promise.all([
    store.put(`${name}/${thing}`, text),
    resolver.resolve('g', vector),
  ])
  const answer = `answer ${thing}`
  const hit = await cache.get(text)
  if (hit && hit.answer !== answer)
    throw new Error(`${text} was answered by ${JSON.stringify(hit.answer)}`)
  if (!hit) await cache.set(text, answer)
  writeSync(1, `${JSON.stringify({ name, thing, text, id })}\n`)
}

/** From another one on in every process, four at a time. */
const order = Array.from({ length: things }, (_, at) => (at * 7 + name * 3) % things)
for (let from = 0; from < things; from += 4) await Promise.all(order.slice(from, from + 4).map(say))
await Promise.all([store.close(), resolver.close(), cache.close()])
