/**
 * One of several processes that put and resolve what they are sent, through one shared engine, and die at a share of
 * all steps: before a request goes out, or after it was done and before anybody heard of it.
 * Argument: JSON of { location, crashes, lastStep, seed, unchecked }; `lastStep`: it dies there, if not before.
 */

import { openResolver, openStore } from '../../dist/index.js'
import { resolverSpaces } from '../../dist/resolve/index.js'
import { storeSpaces } from '../../dist/store/index.js'
import { openBackend } from '../../dist/backends/open.js'
import { seededRandom } from '../../dist/backends/simulated/backend.js'

const { location, crashes, lastStep, seed, unchecked } = JSON.parse(process.argv[2])
const random = seededRandom(seed)
const counts = { transactions: 0, commits: 0, refused: 0, fetches: 0 }

let steps = 0
let isReady = false
let isEnding = false

function mayCrash() {
  if (!isReady) return
  if (++steps === lastStep || random() < crashes / 2) process.kill(process.pid, 'SIGKILL')
}

/** An engine whose steps may be the last ones; `unchecked`: it commits whatever has changed meanwhile. */
const tap = (engine) => ({
  fetchIsAtomic: engine.fetchIsAtomic,
  async fetch(cells) {
    mayCrash()
    counts.fetches++
    const found = await engine.fetch(cells)
    mayCrash()
    return found
  },
  async commit(commit) {
    mayCrash()
    counts.commits++
    const outcome = await engine.commit(unchecked ? { ...commit, checks: [] } : commit)
    if (!outcome.applied) counts.refused++
    mayCrash()
    return outcome
  },
})

/** Where bodies run one after another, a whole transaction is one step. */
function steppedRuns(backend) {
  for (const verb of ['run', 'read']) {
    const inner = backend[verb].bind(backend)
    backend[verb] = async (...given) => {
      mayCrash()
      const result = await inner(...given)
      mayCrash()
      return result
    }
  }
  return backend
}

const spaces = [...storeSpaces, ...resolverSpaces]
const backend = await openBackend(location, { spaces, tap })
if (backend.serial) steppedRuns(backend)
const store = await openStore(backend)
const resolver = await openResolver(backend, { cacheMax: 0 })

async function perform(delivery) {
  counts.transactions++
  if (delivery.kind === 'put') await store.put(delivery.key, delivery.value)
  else await resolver.resolve('race', delivery.text)
}

process.on('message', async ({ number, delivery }) => {
  if (delivery === undefined) {
    if (isEnding) return
    isEnding = true
    await backend.close()
    process.send({ counts }, () => process.disconnect())
    return
  }
  try {
    await perform(delivery)
    process.send({ number })
  } catch (error) {
    process.send({ number, error: String(error?.stack ?? error) })
  }
})
isReady = true
process.send('ready')
