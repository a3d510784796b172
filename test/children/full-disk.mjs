/** Puts until its files may grow no more, then goes on living. Arguments: directory, durability. */

import { randomBytes } from 'node:crypto'

import { openStore } from '../../dist/index.js'

const [directory, durability] = process.argv.slice(2)
const store = await openStore(directory, { durability, compression: 'none' })
/** Random, because everything else would be shared or compressed. */
const valueOf = (number) => Buffer.concat([Buffer.from(`value ${number} `), randomBytes(100_000)])
let acknowledged = 0
let failure
while (failure === undefined && acknowledged < 10_000) {
  try {
    await store.put(`key ${acknowledged}`, valueOf(acknowledged))
    acknowledged++
  } catch (error) {
    failure = error
  }
}
const large = await store.put('large', randomBytes(9_000_000)).catch(({ code }) => code)
const last = await store.get(`key ${acknowledged - 1}`)
const { keys } = await store.stats()
const { problems } = await store.verify()
await store.close()
const isThere = last?.toString().startsWith(`value ${acknowledged - 1} `)
console.log(
  JSON.stringify({ code: failure?.code, large, isThere, lost: acknowledged - keys, problems }),
)
