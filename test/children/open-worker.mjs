/**
 * One of many processes on a directory that others open, close, read and write. Arguments: role, directory, durability,
 * name. What it has done goes to stdout, a line each: `put FIRST LAST`, `open COUNT`, `read COUNT`. It works until it is
 * killed, or until it is told to stop by the end of its standard input.
 */

import { writeSync } from 'node:fs'

import { openStore } from '../../dist/index.js'

const [role, directory, durability, name] = process.argv.slice(2)
const IN_FLIGHT = 16
let isStopping = false
process.stdin
  .on('end', () => {
    isStopping = true
  })
  .resume()

const say = (line) => writeSync(1, `${line}\n`)
const keyOf = (number) => `${name}-${number}`
const open = () => openStore(directory, { durability })

const roles = {
  async writer() {
    const store = await open()
    for (let number = 0; !isStopping; number += IN_FLIGHT) {
      const numbers = Array.from({ length: IN_FLIGHT }, (_, at) => number + at)
      await Promise.all(numbers.map((one) => store.put(keyOf(one), `value of ${keyOf(one)}`)))
      say(`put ${number} ${number + IN_FLIGHT - 1}`)
    }
    await store.close()
  },

  async reader() {
    const store = await open()
    for (let reads = 0; !isStopping;) {
      for await (const key of store.keys({ limit: 200 })) {
        const value = await store.getText(key)
        if (value !== `value of ${String(key)}`) throw new Error(`${String(key)} reads as ${value}`)
        reads++
      }
      say(`read ${reads}`)
      await new Promise((resolve) => {
        setTimeout(resolve, 5)
      })
    }
    await store.close()
  },

  /** Every fourth time it also puts. */
  async opener() {
    for (let count = 1; !isStopping; count++) {
      const store = await open()
      if (count % 4 === 0) {
        await store.put(keyOf(count), `value of ${keyOf(count)}`)
        say(`put ${count} ${count}`)
      }
      await store.close()
      say('open 1')
    }
  },
}

await roles[role]()
process.exitCode = 0
process.stdin.destroy()
