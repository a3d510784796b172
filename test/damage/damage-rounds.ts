/**
 * Damages the file of a store, again and again in another way, and reads it as people do: every key, an export, verify
 * and salvage. No wrong byte may be served, no process may be ended by a signal, verify may not call a store sound whose
 * keys cannot be read, and salvage must bring out every value that can be.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { seededRandom } from '../../src/backends/simulated/backend.ts'
import { openStore } from '../../src/index.ts'

const READER = fileURLToPath(new URL('../children/damage-reader.mjs', import.meta.url))
const KEYS = 400

export const damages = ['flip', 'page', 'cut'] as const
export type Damage = (typeof damages)[number]

export interface DamageReport {
  readonly rounds: number
  /** Rounds in which something could not be read. */
  readonly noticed: number
  readonly lost: number
  readonly faults: readonly string[]
}

/** Values of every layout: inline, on one page, with a rest, on several pages, in parts of a few. */
export function valueOf(n: number): string {
  const length = [10, 300, 1500, 3000, 4096, 9000, 70_000][n % 7] ?? 10
  return `value ${n % 300} `.padEnd(length, `${n % 300}.`)
}

export async function makeStore(directory: string): Promise<void> {
  const store = await openStore(directory, { compression: 'none', durability: 'os' })
  for (let n = 0; n < KEYS; n++) await store.put(`key ${n}`, valueOf(n))
  for (let n = 0; n < KEYS; n += 10) await store.put(`key ${n}`, valueOf(n + 1))
  for (let n = 0; n < KEYS; n += 10) await store.put(`key ${n}`, valueOf(n))
  await store.close()
}

/** The store in `original` is copied, damaged and read `rounds` times. */
export async function damageRounds(
  original: string,
  work: string,
  {
    damage,
    rounds,
    seed,
  }: { readonly damage: Damage; readonly rounds: number; readonly seed: number },
): Promise<DamageReport> {
  const random = seededRandom(seed)
  const faults: string[] = []
  let noticed = 0
  let lost = 0
  for (let round = 0; round < rounds; round++) {
    const place = join(work, `${damage}-${round}`)
    mkdirSync(place)
    const file = join(place, 'data.mdb')
    copyFileSync(join(original, 'data.mdb'), file)
    const what = damageFile(file, damage, random)
    const outcome = await read(place, join(work, `salvaged-${damage}-${round}`))
    if ('fault' in outcome) faults.push(`${what}: ${outcome.fault}`)
    else {
      if (outcome.unreadable > 0) noticed++
      lost += outcome.lost
    }
    rmSync(place, { recursive: true })
  }
  return { rounds, noticed, lost, faults }
}

function damageFile(file: string, damage: Damage, random: () => number): string {
  const bytes = readFileSync(file)
  const at = Math.floor(random() * bytes.length)
  if (damage === 'cut') {
    truncateSync(file, at)
    return `cut at ${at}`
  }
  if (damage === 'flip') bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
  else {
    const start = at - (at % 4096)
    const isZeroed = random() < 0.5
    for (let n = start; n < start + 4096; n++) bytes[n] = isZeroed ? 0 : Math.floor(random() * 256)
  }
  writeFileSync(file, bytes)
  return `${damage} at ${at}`
}

type Outcome = { readonly unreadable: number; readonly lost: number } | { readonly fault: string }

async function read(place: string, target: string): Promise<Outcome> {
  const child = spawn(process.execPath, [READER, place, target, String(KEYS)])
  let out = ''
  let err = ''
  child.stdout.on('data', (text) => (out += String(text)))
  child.stderr.on('data', (text) => (err += String(text)))
  const [code, signal] = await once(child, 'close')
  rmSync(target, { recursive: true, force: true })
  if (code !== 0) return { fault: `ended with ${code ?? signal}: ${err.slice(-300)}` }
  return JSON.parse(out) as Outcome // safe: the child wrote it
}
