// Several processes put, resolve and dedupe overlapping data through one shared engine, while some of them are killed.
// What a killed one had not acknowledged goes to another, as a queue would do it. In the end everything is exact.

import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDedupe, openLedger, openResolver, openStore } from 'prestige-dedup'

const WORKERS = 4
const IN_FLIGHT = 8
const KILLED = 3

const directory = await mkdtemp(join(tmpdir(), 'many-workers-'))
const location = process.argv[2] ?? join(directory, 'shared')

// The work: every value, text and document comes several times, under other names.
const words = (from, count) =>
  Array.from({ length: count }, (_, at) => `word${from * 7919 + at * at}`)
const work = []
for (let at = 0; at < 240; at++) {
  work.push({
    kind: 'put',
    key: `key-${at}`,
    value: `value ${at % 40} ${words(at % 40, 20).join(' ')}`,
  })
}
for (let at = 0; at < 180; at++) {
  const text = words(1000 + (at % 30), 200)
  text[100] = `variant${at % 3}`
  work.push({ kind: 'resolve', text: text.join(' ') })
}
for (let at = 0; at < 60; at++) {
  work.push({ kind: 'dedupe', id: `document-${at}`, text: words(2000 + (at % 20), 80).join(' ') })
}
const left = work.map((item, at) => ({ item, at: (at * 7919) % work.length }))
left.sort((one, other) => one.at - other.at)

let acknowledged = 0
let killed = 0

// One life of a worker: from its start to the end of the work, or to its death.
function life(name) {
  const worker = fork(new URL('worker.mjs', import.meta.url), [location, name])
  const held = new Map()
  let isReady = false
  const give = () => {
    const next = left.pop()
    if (next) {
      held.set(next.at, next)
      worker.send(next, () => {})
    } else if (held.size === 0 && worker.connected) worker.disconnect()
  }
  worker.on('message', (at) => {
    if (at === 'ready') {
      isReady = true
      for (let lane = 0; lane < IN_FLIGHT; lane++) give()
      return
    }
    held.delete(at)
    acknowledged++
    if (killed < KILLED && acknowledged > (killed + 1) * 80) {
      killed++
      console.error(`${name}: killed with ${held.size} deliveries in its hands`)
      worker.kill('SIGKILL')
    } else give()
  })
  return new Promise((resolve, reject) => {
    worker.on('exit', () => {
      left.push(...held.values())
      if (isReady) resolve()
      else reject(new Error(`${name} could not begin`))
    })
  })
}

async function place(number) {
  for (let lives = 1; left.length > 0; lives++) await life(`worker ${number}.${lives}`)
}

await Promise.all(Array.from({ length: WORKERS }, (_, number) => place(number + 1)))
console.log(
  `${WORKERS} workers, ${killed} killed and replaced, ${work.length} deliveries acknowledged`,
)

const store = await openStore(location)
let own = 0
for (const { kind, key, value } of work) {
  if (kind === 'put' && (await store.get(key))?.toString() === value) own++
}
const { keys, contents } = await store.stats()
const { problems } = await store.verify()
console.log(
  `store: ${keys} keys, ${own} give their own bytes back, ${contents} contents, ${problems.length} problems`,
)
await store.close()

const resolver = await openResolver(location)
const ids = new Set()
for (const { kind, text } of work) {
  if (kind === 'resolve') ids.add((await resolver.lookup('texts', text))?.id)
}
console.log(`resolver: 180 texts are ${ids.size} things`)
await resolver.close()

const deduper = await openDedupe(location)
const ledger = await openLedger(location)
const actions = { keep: 0, drop: 0, link: 0 }
let agreed = 0
for (const { kind, id, text } of work) {
  if (kind !== 'dedupe') continue
  const { action } = await deduper.decide({ id, text })
  actions[action]++
  const line = await ledger.get(id)
  if (line?.status === (action === 'keep' ? 'accepted' : 'duplicate')) agreed++
}
console.log(
  `dedupe: ${actions.keep} kept, ${actions.drop} dropped; the ledger says the same of ${agreed}`,
)
await ledger.close()
await deduper.close()
await rm(directory, { recursive: true })
