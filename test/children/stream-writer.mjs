/**
 * Puts streams that never end until it is killed: one that is new, one that shares what is stored.
 * Arguments: directory, durability, file with the bytes that are stored.
 */

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

import { openStore } from '../../dist/index.js'

const [directory, durability, file] = process.argv.slice(2)
const known = readFileSync(file)
const store = await openStore(directory, { durability, chunks: { averageBytes: 4096 } })

async function* endless(isShared) {
  for (let pieces = 1; ; pieces++) {
    yield isShared ? known : randomBytes(1_000_000)
    // Two windows of it are taken: the first has been written, or is being.
    if (!isShared && pieces === 10) process.stdout.write('under way\n')
    await pause(1)
  }
}

await Promise.all([store.put('fresh', endless(false)), store.put('shared', endless(true))])
