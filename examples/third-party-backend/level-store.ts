/** A store over LevelDB: `node --import tsx examples/third-party-backend/level-store.ts`, after `npm ci`. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openStore } from 'prestige-dedup'
import { storeSpaces } from 'prestige-dedup/backend'

import { openLevel } from './level-backend.ts'

const directory = await mkdtemp(join(tmpdir(), 'prestige-level-'))
try {
  const store = await openStore(await openLevel(directory, { spaces: storeSpaces }))
  await store.put('a', 'hello, world')
  const receipt = await store.put('b', 'hello, world')
  console.log(`put b: ${receipt.content} of ${String(receipt.of?.firstKey)}`)
  await store.close()

  const again = await openStore(await openLevel(directory, { spaces: storeSpaces }))
  console.log(`after opening it again, b is: ${await again.getText('b')}`)
  const { keys, contents, bytesSaved } = await again.stats()
  console.log(`${keys} keys, ${contents} content, ${bytesSaved} bytes saved`)
  const { problems } = await again.verify()
  console.log(`verify: ${problems.length} problems`)
  await again.close()
} finally {
  await rm(directory, { recursive: true })
}
