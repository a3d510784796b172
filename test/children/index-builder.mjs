/** Opens a view of vectors in lists, which takes a while, and says how far it is. To be killed. */

import { openVectorView } from '../../dist/semantic/index.js'

const [path, count] = process.argv.slice(2)

const source = {
  embedder: 'model',
  dimensions: 32,
  count: async () => Number(count),
  position: async () => count,
  since: async () => undefined,
  async *all() {
    for (let number = 0; number < Number(count); number++) {
      if (number === 10) process.stdout.write('filling\n')
      const id = Buffer.alloc(16)
      id.writeUInt32BE(number, 12)
      yield {
        id,
        vector: Float32Array.from({ length: 32 }, (_, at) => Math.sin(number * 31 + at * at)),
      }
    }
    process.stdout.write('learning\n')
  },
}
const view = await openVectorView(source, { engine: 'ivf', path })
process.stdout.write('built\n')
await view.save()
process.stdout.write('saved\n')
