/** A server with a store and corpus runs for the console, on a port of this machine. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deflateSync } from 'node:zlib'

import { createServer, listen, type Listening, type ServerOptions } from '../src/server/index.ts'
import { openStore } from '../src/store/index.ts'
import { jsonl } from './corpus-kit.ts'

const CLI = fileURLToPath(new URL('../dist/command/main.js', import.meta.url))
const near = { threshold: 0.8 }
/** How the store is opened, by the server too. */
const KEEPING = { dedup: 'near', near } as const

/** What was reported of each machine: nothing that two of them share. */
const FAULTS: Readonly<Record<string, string>> = {
  pump: 'On Monday morning the pump in hall A stopped without a warning. A bearing was worn, and the operator replaced it before the shift went on. Pressure was 6 bar afterwards.',
  boiler:
    'The boiler lost water overnight because a seal at the lower flange leaked. We drained 40 litres, cleaned both faces of the flange and fitted a seal of the newer type.',
  conveyor:
    'Belt 4 drifts to the left under load and rubs against the frame. Tension was adjusted at both ends; after 3 hours of work the drift is below the limit of the manual.',
  furnace:
    'Temperature in zone 2 could not be held at 850 degrees. Two heating elements had burnt through, which the current measurement shows. Spare elements are on order.',
  crane:
    'During the yearly inspection the inspector found 5 broken wires in the hoist rope. The crane is locked until the rope has been changed and a load test was passed.',
  mixer:
    'An unusual noise comes from the gearbox of the mixer as soon as it turns backwards. The oil had metal chips in it. Gears and oil should be changed within 2 weeks.',
}

/** Reports of faults, of which some are there twice, some nearly, and some with another number. */
export function faultReports(): { id: string; source: string; text: string }[] {
  return Object.entries(FAULTS).flatMap(([machine, text], at) => {
    const nearly = text.replace(/ (the|a|an) /, ' this ')
    const first = text.split('. ')[0] ?? ''
    const longer = `${text} ${first.slice(0, 60)}, as said before.`
    const other = text.replace(/\d+/, (number) => String(Number(number) + 1))
    return [
      { id: `report/${machine}/1`, source: 'maintenance', text },
      { id: `mail/${machine}/1`, source: 'mail', text: at % 2 === 0 ? text : nearly },
      { id: `mail/${machine}/2`, source: 'mail', text: nearly },
      { id: `archive/${machine}/7`, source: 'archive', text: at % 3 === 0 ? other : longer },
      { id: `archive/${machine}/8`, source: 'archive', text: at % 3 === 1 ? other : first },
    ]
  })
}

/** Stripes, 96 pixels wide and high, one byte a pixel. */
function stripes(): Buffer {
  const size = 96
  const rows = Array.from({ length: size }, (_, y) =>
    Buffer.from([0, ...Array.from({ length: size }, (__, x) => ((x + y) % 32 < 16 ? 70 : 210))]),
  )
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const head = Buffer.from([0, 0, 0, size, 0, 0, 0, size, 8, 0, 0, 0, 0])
  const parts = [chunk('IHDR', head), chunk('IDAT', deflateSync(Buffer.concat(rows)))]
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    ...parts,
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** As PNG has it. */
function crc32(bytes: Buffer): number {
  let sum = 0xffffffff
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0)
  }
  return ~sum >>> 0
}

export interface Place {
  readonly store: string
  readonly jobs: string
}

/** A store and the outputs of two runs. */
export async function fill(directory: string): Promise<Place> {
  const place = { store: join(directory, 'store'), jobs: join(directory, 'runs') }
  const all = faultReports()
  await using store = await openStore(place.store, KEEPING)
  for (const { id, text } of all) await store.put(id, text)
  await store.put('config/site.json', JSON.stringify({ site: 'north', lines: [1, 2, 4] }))
  await store.put('images/logo.png', stripes())
  await store.put(
    Buffer.of(0xff, 0x00, 0x10),
    Buffer.from(Array.from({ length: 300 }, (_, at) => at % 256)),
  )
  await store.put('<b>&"\'', '<script>console.error("owned")</script>')
  mkdirSync(join(directory, 'in'))
  ;[all.slice(0, 18), all].forEach((documents, at) => {
    const file = join(directory, 'in', `${at}.jsonl`)
    writeFileSync(file, jsonl(documents))
    const run = ['--run', `march-${at + 1}`, '--threshold', String(near.threshold)]
    const flags = ['--source-field', 'source', '-o', place.jobs, '--quiet']
    execFileSync(process.execPath, [CLI, 'dedupe', file, ...run, ...flags], { stdio: 'pipe' })
  })
  return place
}

export async function serve(place: Place, options: ServerOptions = {}): Promise<Listening> {
  const server = createServer(place.store, { store: KEEPING, jobs: place.jobs, ...options })
  return listen(server, { port: 0 })
}
