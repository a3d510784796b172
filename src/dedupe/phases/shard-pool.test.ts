import { expect, it } from 'vitest'

import { readConfig } from '../config/config.ts'
import { preparedAhead } from './shard-pool.ts'

it('what fails in a thread that reads input fails with the code that it had', async () => {
  const shard = {
    index: 0,
    file: '/nowhere/a.jsonl',
    path: 'a.jsonl',
    fileBytes: 10,
    modifiedMs: 1,
    format: 'jsonl',
    compression: 'none',
    start: 0,
    end: 10,
    bytes: 10,
  } as const
  const works = [{ shard, reading: {}, strict: false, run: 1, replay: undefined }]
  const preparing = { config: readConfig({}), valueBytesMax: 1 << 20, cellsMax: 1000 }
  const all = preparedAhead(preparing, async () => works.pop(), 1)
  await expect(all.next()).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
})
