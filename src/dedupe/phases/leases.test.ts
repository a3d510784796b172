/** Leases: whoever is gone is replaced, and a batch that was not kept lets none behind it be kept. */

import { mkdtempSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import type { Body } from '../../backends/contract.ts'
import { MemoryBackend } from '../../backends/memory/backend.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { openDedupe } from '../open.ts'
import { corpus, jsonl, writeFiles } from '../../../test/corpus-kit.ts'
import { endWorker, isGone, newWorker } from './worker-name.ts'

describe('a worker', () => {
  it('is gone when its process is, or when it has ended', () => {
    const name = newWorker()
    expect(isGone(name)).toBe(false)
    endWorker(name)
    expect(isGone(name)).toBe(true)
    const { pid } = spawnSync(process.execPath, ['-e', ''])
    const [machine, , nonce, number] = name.split(':')
    expect(isGone([machine, pid, nonce, number].join(':'))).toBe(true)
    expect(isGone([machine, process.ppid, 'other', number].join(':'))).toBe(false)
    expect(isGone(['elsewhere', pid, nonce, number].join(':'))).toBe(false)
    expect(isGone('anything')).toBe(false)
  })
})

/** One transaction of decisions fails, and those that are under way behind it do not. */
class Failing extends MemoryBackend {
  left = 2

  override run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    if (body.name === 'decideAll' && --this.left === 0) {
      return Promise.reject(new PrestigeError('BACKEND_FULL', 'The disk is full.'))
    }
    return super.run(body, ...args)
  }
}

describe('a run that fails in the middle', () => {
  it('has kept nothing behind what was not kept, and goes on there', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'prestige-leases-'))
    try {
      writeFiles(directory, { 'in/a.jsonl': jsonl(corpus(1700)) })
      const deduper = await openDedupe(new Failing())
      const job = { inputs: [join(directory, 'in')], out: join(directory, 'out') }
      await expect(deduper.run(job)).rejects.toMatchObject({ code: 'BACKEND_FULL' })
      const { summary } = await deduper.run(job)
      expect(summary).toMatchObject({ documents: 1700, repeated: 0 })
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it('is refused leases that cannot be', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'prestige-leases-'))
    try {
      writeFiles(directory, { 'in/a.jsonl': jsonl(corpus(3)) })
      const deduper = await openDedupe('memory:')
      const job = { inputs: [join(directory, 'in')], out: join(directory, 'out') }
      const refused = deduper.run({ ...job, sharing: { leaseMs: -1 } })
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
      await deduper.close()
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
