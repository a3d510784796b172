// One worker: does what it is sent, and says so when it is done.

import { openDedupe, openResolver, openStore } from 'prestige-dedup'

const [location, name] = process.argv.slice(2)
const store = await openStore(location)
const resolver = await openResolver(location)
const deduper = await openDedupe(location)
const did = { put: 0, resolve: 0, dedupe: 0 }

process.on('message', async ({ at, item }) => {
  if (item.kind === 'put') await store.put(item.key, item.value)
  else if (item.kind === 'resolve') await resolver.resolve('texts', item.text)
  else await deduper.decide({ id: item.id, text: item.text })
  did[item.kind]++
  process.send(at)
})
process.on('disconnect', async () => {
  console.error(`${name}: put ${did.put}, resolved ${did.resolve}, deduped ${did.dedupe}`)
  await Promise.all([store.close(), resolver.close(), deduper.close()])
})
process.send('ready')
