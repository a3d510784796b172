/** Keyv 6 on a store. Needs Node 22.19. `node examples/adapters/keyv.mjs`, after `npm ci`. */

import { Keyv } from 'keyv'
import { openStore } from 'prestige-dedup'
import { KeyvStorage } from 'prestige-dedup/keyv'

const store = await openStore('memory:')
const keyv = new Keyv({ store: new KeyvStorage({ store }), namespace: 'pages' })
await keyv.set('a', { title: 'About us' }, 60_000)
await keyv.set('b', { title: 'About us' }, 120_000)
const { keys, contents } = await store.stats()
console.log(`Keyv: ${keys} keys, ${contents} content, ${JSON.stringify(await keyv.get('b'))}`)
await store.close()
