/** The reference: plain lmdb with our settings, told the same keys and the same bytes, and nothing else. */

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { open, type RootDatabase } from 'lmdb'

import { nextTurn } from './measure.ts'

export type Durability = 'os' | 'fsync'
export type Raw = RootDatabase<Buffer, Buffer>

const BATCH = 100

export function openRaw(directory: string, durability: Durability): Raw {
  return open<Buffer, Buffer>({
    path: directory,
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    mapSize: 2 ** 40,
    maxDbs: 64,
    overlappingSync: false,
    noSync: durability === 'os',
  })
}

/** In batches of 100: with `os` in the cheapest form there is, with `fsync` off the event loop. */
export async function rawPuts(
  root: Raw,
  keys: readonly Buffer[],
  values: readonly Buffer[],
  durability: Durability,
  inFlight = BATCH,
): Promise<void> {
  const batch = Math.min(BATCH, inFlight)
  for (let from = 0; from < keys.length; from += batch) {
    const to = Math.min(keys.length, from + batch)
    const body = () => {
      for (let at = from; at < to; at++) root.putSync(keys[at]!, values[at]!)
    }
    if (durability === 'os') root.transactionSync(body)
    else await root.childTransaction(body)
    await nextTurn()
  }
}

export async function rawDeletes(root: Raw, keys: readonly Buffer[]): Promise<void> {
  for (let from = 0; from < keys.length; from += BATCH) {
    const to = Math.min(keys.length, from + BATCH)
    root.transactionSync(() => {
      for (let at = from; at < to; at++) root.removeSync(keys[at]!)
    })
    await nextTurn()
  }
}

const COUNT_COMMITS = `
  import { open } from 'lmdb'
  const [path] = process.argv.slice(1)
  const root = open({ path, noSubdir: false, encoding: 'binary', keyEncoding: 'binary', readOnly: true })
  process.stdout.write(String(root.getStats().lastTxnId))
  await root.close()
`

/**
 * Write transactions committed in a directory so far. Each is one fdatasync, unless syncing is off.
 *
 * Asked in a process of its own: lmdb makes its classes anew for every environment, and a second one in this
 * process would throw away the code that was compiled for the first.
 */
export function commitsOf(directory: string): number {
  const args = ['--input-type=module', '--eval', COUNT_COMMITS, directory]
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  return Number(execFileSync(process.execPath, args, { cwd, encoding: 'utf8' }))
}
