/**
 * Runs 500 puts again and again, and each time another one of the system calls on LMDB's files fails: the first write,
 * the second, and so on. Whatever happens must be an error with a code, or success; never a crash; and the store must
 * be sound afterwards, with everything in it that was acknowledged.
 */

import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import type { Durability } from '../../src/backends/lmdb/options.ts'
import { openStore } from '../../src/index.ts'
import { buildShim } from './shim.ts'

const WRITER = fileURLToPath(new URL('../children/fault-writer.mjs', import.meta.url))

export interface Fault {
  readonly call: 'write' | 'fsync' | 'ftruncate' | 'mmap'
  /** `short`: a write is cut in half. */
  readonly how: 'EIO' | 'ENOSPC' | 'ENOMEM' | 'short'
}

export const faults: readonly Fault[] = [
  { call: 'write', how: 'EIO' },
  { call: 'write', how: 'ENOSPC' },
  { call: 'write', how: 'short' },
  { call: 'fsync', how: 'EIO' },
  { call: 'ftruncate', how: 'ENOSPC' },
  { call: 'mmap', how: 'ENOMEM' },
]

interface Outcome {
  readonly acknowledged: number
  /** The errors on the way. */
  readonly codes: readonly string[]
  /** How many such system calls there were. */
  readonly calls: number
}

/** Fails the n-th call. Throws where anything but an error by name came of it. */
export async function faultRound(
  base: string,
  durability: Durability,
  { call, how }: Fault,
  at: number,
): Promise<Outcome> {
  const directory = join(base, `${durability}-${call}-${how}-${at}`)
  const log = `${directory}.log`
  const env = {
    ...process.env,
    LD_PRELOAD: await buildShim(),
    FAULT_CALL: call,
    FAULT_AT: String(at),
    FAULT_LOG: log,
    ...(how === 'short' ? { FAULT_SHORT: '1' } : { FAULT_ERRNO: String(constants.errno[how]) }),
  }
  const args = [WRITER, directory, durability]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  const outcome = JSON.parse(stdout) as Omit<Outcome, 'calls'> // safe: the child wrote it
  await check(directory)
  const calls = Number(await readFile(log, 'utf8'))
  await rm(directory, { recursive: true })
  return { ...outcome, calls }
}

async function check(directory: string): Promise<void> {
  const store = await openStore(directory)
  const { problems, keys } = await store.verify()
  if (problems.length > 0 || keys !== 500) {
    throw new Error(`${keys} keys, ${JSON.stringify(problems[0])}`)
  }
  for (let n = 0; n < 500; n++) {
    const key = `key ${n}`
    const value = await store.getText(key)
    if (value !== `${'x'.repeat(1500)} ${key}`) throw new Error(`${key} was lost`)
  }
  await store.close()
}
