/** Processes that share a ledger are killed in the middle of their work; the others finish it. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

import { openLmdb } from '../src/backends/lmdb/backend.ts'
import { openLedger } from '../src/index.ts'
import { ledgerSpaces } from '../src/ledger/index.ts'
import { checkRows, rowsOfBackend } from './ledger/invariants.ts'

const WORKER = fileURLToPath(new URL('./children/ledger-worker.mjs', import.meta.url))
const DOCUMENTS = 300
const LEASE_MS = 300

function startWorker(directory: string, name: string, holdsAfter = 0): ChildProcess {
  const args = [WORKER, join(directory, 'ledger'), join(directory, `${name}.log`), name]
  const counts = [DOCUMENTS, LEASE_MS, holdsAfter].map(String)
  return spawn(process.execPath, [...args, ...counts], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Waits until a worker has said it. */
async function said(worker: ChildProcess, word: string): Promise<void> {
  let text = ''
  for await (const part of worker.stdout!.iterator({ destroyOnReturn: false })) {
    text += String(part)
    if (text.includes(word)) return
  }
  throw new Error(`A worker ended before it was ${word}.`)
}

/** Documents that were begun, and those whose commit was acknowledged, with their tokens. */
async function toldBy(directory: string, name: string) {
  const begun = new Map<string, number>()
  const done = new Map<string, number>()
  for (const line of (await readFile(join(directory, `${name}.log`), 'utf8')).split('\n')) {
    const [kind, id = '', token] = line.split('\t')
    if (kind === 'B') begun.set(id, Number(token))
    if (kind === 'A') done.set(id, Number(token))
  }
  return { begun, done }
}

describe('workers killed with SIGKILL', () => {
  it('leave what they committed, and what they had claimed is taken over', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-ledger-'))
    const workers: ChildProcess[] = []
    try {
      const path = join(directory, 'ledger')
      const first = await openLedger(path, { durability: 'os' })
      await first.startRun({ id: 'r' })
      await first.close()
      const names = ['w0', 'w1', 'w2']
      names.forEach((name, at) => workers.push(startWorker(directory, name, at === 0 ? 1 : 0)))
      const ends = workers.map((worker) => once(worker, 'exit'))
      await said(workers[0]!, 'holding')
      workers[0]!.kill('SIGKILL')
      await said(workers[1]!, 'ready')
      await sleep(60)
      workers[1]!.kill('SIGKILL')
      await Promise.all(ends)
      expect(workers[2]!.exitCode).toBe(0)

      const told = await Promise.all(names.map((name) => toldBy(directory, name)))
      const backend = await openLmdb(path, { spaces: ledgerSpaces })
      const ledger = await openLedger(backend)
      expect(await ledger.counts({ run: 'r' })).toMatchObject({
        accepted: DOCUMENTS,
        total: DOCUMENTS,
      })
      let acknowledged = 0
      for (const { done } of told) {
        for (const [id, token] of done) {
          expect(await ledger.get(id)).toMatchObject({ status: 'accepted', token })
          acknowledged++
        }
      }
      const killed = told.slice(0, 2)
      const underWay = killed.flatMap(({ begun, done }) =>
        [...begun.keys()].filter((id) => !done.has(id)),
      )
      expect(underWay.length).toBeGreaterThan(0)
      for (const id of underWay) expect(await ledger.wasProcessed(id)).toBe(true)
      // A commit whose answer never came may have been made, and is not made again.
      expect(acknowledged).toBeLessThanOrEqual(DOCUMENTS)
      expect(acknowledged).toBeGreaterThanOrEqual(DOCUMENTS - underWay.length)
      checkRows(await rowsOfBackend(backend, { sources: ['s'], runs: ['r'] }))
      await ledger.close()
    } finally {
      for (const worker of workers) worker.kill('SIGKILL')
      await rm(directory, { recursive: true })
    }
  })
})
