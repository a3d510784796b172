/** Put, put again, ask why, let a key expire. `node examples/basic/basic.mjs`, after `npm ci`. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openStore } from 'prestige-dedup'

const directory = await mkdtemp(join(tmpdir(), 'prestige-basic-'))
let now = Date.now() // a clock of our own, so that the example need not wait
const store = await openStore(directory, { canonical: 'unicode', clock: () => now })

async function put(key, value, options) {
  const { content, of, bytesSaved } = await store.put(key, value, options)
  const known = of ? `, first seen under ${of.firstKey}; ${bytesSaved} bytes saved` : ''
  console.log(`put ${key}: ${content}${known}`)
}

try {
  await put('a', 'The same text')
  await put('b', 'The same text') // the same bytes: stored once
  await put('c', 'the  SAME text') // the same after canonicalisation: linked, and kept as it is
  await put('d', 'Something else', { ttlMs: 1000 })
  console.log(`get c: ${await store.getText('c')}`)

  const { content, method, of, sharedWith } = await store.explain('b')
  console.log(`explain b: ${content} of ${of.firstKey} by ${method}, shared with ${sharedWith}`)

  now += 1000
  console.log(`d after a second: ${await store.get('d')}`)
  const { expiredKeys, contents } = await store.collect()
  console.log(`collect: ${expiredKeys} expired key, ${contents} content reclaimed`)

  const { keys, valueBytes, contentBytes } = await store.stats()
  console.log(`stats: ${keys} keys, ${valueBytes} bytes in, ${contentBytes} bytes kept`)
} finally {
  await store.close()
  await rm(directory, { recursive: true })
}
