import { describe, expect, it } from 'vitest'

import { memory } from '../../../test/subjects.ts'
import { key, names, put } from '../conformance/kit.ts'
import { describeBackend } from '../conformance/index.ts'
import { MemoryBackend } from '../memory/backend.ts'
import { OverlayBackend } from './overlay.ts'

const { open } = memory()

describeBackend(
  { describe, it },
  {
    name: 'overlay',
    open: async (options) => new OverlayBackend(await open(options)),
    knownGaps: [
      // It is one moment of one process: nobody else sees what it keeps.
      'shares its data with a second backend',
      'keeps namespaces apart',
      'scans a space without an order, and tallies, whole',
      'finds no first key of another namespace',
      'makes ids that no other backend makes',
      'waits for what it has accepted before it closes',
      'has everything after it was closed and opened again',
    ],
  },
)

describe('an overlay', () => {
  it('leaves what is underneath as it is', async () => {
    const base = new MemoryBackend()
    await put(base, { a: 'A', b: 'B', c: 'C' })
    const overlay = new OverlayBackend(base)
    await put(overlay, { b: 'changed', bb: 'new' })
    expect(await names(overlay)).toEqual(['a', 'b', 'bb', 'c'])
    expect(await names(overlay, { start: key('b'), limit: 2 })).toEqual(['b', 'bb'])
    expect(await names(base)).toEqual(['a', 'b', 'c'])
  })
})
