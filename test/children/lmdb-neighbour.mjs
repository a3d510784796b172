/**
 * A neighbour on a store directory: another process, or a worker thread, that does what it is told, one
 * message at a time. Arguments (argv or workerData): directory, durability.
 */

import { parentPort, workerData } from 'node:worker_threads'

import { cell, read, rows } from '../../dist/backends/contract.js'
import { openLmdb } from '../../dist/backends/lmdb/backend.js'

const [directory, durability] = parentPort ? workerData : process.argv.slice(2)
const port = parentPort ?? process
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
const reply = (message) => (parentPort ? parentPort.postMessage(message) : process.send(message))

const textCodec = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => Buffer.from(bytes).toString(),
}
const texts = rows('texts', textCodec, { ordered: true })
const backend = await openLmdb(directory, { spaces: [texts], durability })

function* write(scope, name, text) {
  scope.write(cell(texts, Buffer.from(name)), text)
}

function* increment(scope, name) {
  const at = cell(texts, Buffer.from(name))
  const [current = '0'] = yield* read(at)
  scope.write(at, String(Number(current) + 1))
}

const commands = {
  write: ([name, text]) => backend.run(write, name, text),
  increment: ([name, times]) =>
    Promise.all(Array.from({ length: times }, () => backend.run(increment, name))),
  /** Writes until it is killed, and says so after every write. */
  async flood() {
    const lane = async (at) => {
      for (let number = 0; ; number++) {
        const name = `flood ${at} ${number}`
        await backend.run(write, name, name)
        reply(name)
      }
    }
    await Promise.all([0, 1, 2, 3].map(lane))
  },
  async close() {
    await backend.close()
    reply('closed')
    if (parentPort) parentPort.close()
    else process.disconnect()
  },
}

port.on('message', async ([command, ...args]) => {
  await commands[command](args)
  if (command !== 'close') reply('done')
})
reply('open')
