/**
 * Opens a store and puts 500 values, 20 at a time, while one of its system calls fails. What failed is tried once more.
 * Arguments: directory, durability. Prints what became of it.
 */

import { openStore } from '../../dist/index.js'

const [directory, durability] = process.argv.slice(2)
const PUTS = 500
const IN_FLIGHT = 20
const codes = []

async function twice(work) {
  try {
    return await work()
  } catch (error) {
    codes.push(error.code ?? String(error))
    return work()
  }
}

const store = await twice(() => openStore(directory, { durability }))
const acknowledged = []
for (let from = 0; from < PUTS; from += IN_FLIGHT) {
  const put = async (_, at) => {
    const key = `key ${from + at}`
    await twice(() => store.put(key, `${'x'.repeat(1500)} ${key}`))
    acknowledged.push(key)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, put))
}
await store.close().catch((error) => codes.push(error.code ?? String(error)))
console.log(JSON.stringify({ acknowledged: acknowledged.length, codes }))
