/**
 * A process that misbehaves on a store directory. Arguments: what, directory, durability. Says `ready` when it has
 * begun.
 */

import { cell, read, rows } from '../../dist/backends/contract.js'
import { openLmdb } from '../../dist/backends/lmdb/backend.js'

const [what, directory, durability] = process.argv.slice(2)
const bytesCodec = { encode: (bytes) => bytes, decode: (bytes) => bytes }
const texts = rows('texts', bytesCodec, { ordered: true })
const backend = await openLmdb(directory, { spaces: [texts], durability })
const key = (name) => Buffer.from(name)
const ready = () => process.send('ready')

function hang() {
  ready()
  for (;;);
}

const ways = {
  /** Holds the lock for ever. */
  async 'hang-in-commit'() {
    // oxlint-disable-next-line require-yield -- it never gets that far
    await backend.run(function* () {
      hang()
    })
  },

  /** Holds on to an old snapshot for ever. */
  async 'hang-in-read'() {
    await backend.read(function* () {
      yield* read(cell(texts, key('a')))
      hang()
    })
  },

  /** Exits while puts are under way, without closing. */
  async 'exit-with-writes-pending'() {
    ready()
    let count = 0
    const flood = async () => {
      for (;;) {
        await backend.run(function* (scope) {
          scope.write(cell(texts, key(`k${count++ % 500}`)), Buffer.alloc(1000))
        })
      }
    }
    for (let n = 0; n < 32; n++) void flood()
    setTimeout(() => process.exit(7), 60)
  },

  /** Counts until it is killed. */
  async count() {
    for (;;) {
      await backend.run(function* (scope) {
        const [bytes] = yield* read(cell(texts, key('count')))
        scope.write(cell(texts, key('count')), Buffer.of((bytes?.[0] ?? 0) + 1))
      })
    }
  },

  /** Has it open, and does nothing. */
  async idle() {
    ready()
    setInterval(() => {}, 1000)
  },

  async flood() {
    ready()
    for (let n = 0; ; n++) {
      await backend.run(function* (scope) {
        scope.write(cell(texts, key(`k${n % 500}`)), Buffer.alloc(1000))
      })
    }
  },
}

await ways[what]()
