/** Saves an index again and again, one vector more each time, and says which position is on disk. To be killed. */

import { openVectorIndex, saveIndex } from '../../dist/semantic/index.js'

const [path, engine] = process.argv.slice(2)
const index = await openVectorIndex(32, { engine })

for (let number = 0; ; number++) {
  const id = Buffer.alloc(16)
  id.writeUInt32BE(number, 12)
  index.add(
    id,
    Float32Array.from({ length: 32 }, (_, at) => Math.sin(number * 31 + at)),
  )
  if (number < 500) continue
  await saveIndex(index, path, { embedder: 'model', position: String(number) })
  process.stdout.write(`${number}\n`)
}
