/** Texts that mean the same, found by a sentence model. `node examples/semantic/semantic.mjs`, after `npm ci`. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openStore } from 'prestige-dedup'

const directory = await mkdtemp(join(tmpdir(), 'prestige-semantic-'))
const store = await openStore(directory, {
  dedup: 'semantic',
  // No threshold fits all models and texts: tune yours by labelled pairs.
  semantic: { embedder: 'all-MiniLM-L6-v2', threshold: 0.8 },
})

async function put(key, text) {
  const { content, of, similarity, refused } = await store.put(key, text)
  const why = of ? ` to ${of.firstKey}, ${similarity.toFixed(2)} alike` : ''
  const veto = refused?.vetoes[0]
  const not = veto ? `; not ${refused.of.firstKey}: ${veto.guard}, ${veto.a} and ${veto.b}` : ''
  console.log(`put ${key}: ${content}${why}${not}`)
}

try {
  await put('a', 'How do I change my password?')
  await put('b', 'What is the way to change my password?')
  await put('c', 'The invoice comes to 1,500 euros.')
  await put('d', 'The invoice comes to 1,600 euros.') // near, but a guard keeps it apart
  await put('e', 'नमस्ते, आप कैसे हैं?')
  console.log(`get b: ${await store.getText('b')}`)

  const [best] = await store.similar('I want to change my password', { threshold: 0.5 })
  console.log(`like "I want to change my password": ${best.firstKey}`)

  await store.delete('a') // b stands for itself now
  const { content } = await store.explain('b')
  console.log(`b after a is gone: ${content}`)
} finally {
  await store.close()
  await rm(directory, { recursive: true })
}
