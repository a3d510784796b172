/**
 * Puts 4 KiB values until the store is so many times as large as the memory of its cgroup, and now and then gets some at
 * random. Arguments: directory, bytes in all, bytes between two measurements. Prints a line for each.
 */

import { randomFillSync } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { openStore } from '../../dist/index.js'

const [directory, total, step] = process.argv.slice(2)
const VALUE_BYTES = 4096
const IN_FLIGHT = 32
const GETS = 4000
const store = await openStore(directory, { durability: 'os' })
const readBytes = () => Number(/read_bytes: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))[1])
const perSecond = (count, started) => Math.round(count / ((performance.now() - started) / 1000))

async function inFlight(count, work) {
  let next = 0
  const lane = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
}

const value = () => randomFillSync(Buffer.allocUnsafe(VALUE_BYTES))
for (let keys = 0; keys * VALUE_BYTES < Number(total);) {
  const puts = Math.round(Number(step) / VALUE_BYTES)
  const putting = performance.now()
  await inFlight(puts, (n) => store.put(`key ${keys + n}`, value()))
  const putsPerSecond = perSecond(puts, putting)
  keys += puts
  const before = readBytes()
  const getting = performance.now()
  await inFlight(GETS, async () => {
    const got = await store.get(`key ${Math.floor(Math.random() * keys)}`)
    if (got?.byteLength !== VALUE_BYTES) throw new Error('a value is missing')
  })
  const getsPerSecond = perSecond(GETS, getting)
  const bytes = statSync(join(directory, 'data.mdb')).size
  const readPerGet = Math.round((readBytes() - before) / GETS)
  const line = { keys, fileBytes: bytes, bytesPerKey: Math.round(bytes / keys) }
  process.stdout.write(`${JSON.stringify({ ...line, putsPerSecond, getsPerSecond, readPerGet })}\n`)
}
await store.close()
