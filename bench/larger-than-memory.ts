/**
 * Does a store keep its speed when it is larger than memory? It is filled with values of 4 KiB in a cgroup of 256 MB, to
 * six times that, and puts and gets at random are counted on the way. Needs the right to make a cgroup.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { memoryPlot } from './harness/growth-plot.ts'

const PROGRAM = fileURLToPath(new URL('harness/small-memory.mjs', import.meta.url))
const PLOT = fileURLToPath(new URL('results/larger-than-memory.svg', import.meta.url))
const MEMORY_BYTES = 256 * 2 ** 20
const TIMES = 6
const GETS_MIN = 1500
const PUTS_MIN = 5000

export interface MemoryPoint {
  readonly fileBytes: number
  readonly putsPerSecond: number
  readonly getsPerSecond: number
}

export async function benchLargerThanMemory(
  scale: number,
  print: (line: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  const memory = Math.round(MEMORY_BYTES * scale)
  const directory = mkdtempSync(join(tmpdir(), 'prestige-memory-'))
  const group = makeGroup(memory)
  const points: MemoryPoint[] = []
  try {
    const args = [PROGRAM, directory, String(memory * TIMES), String((memory * TIMES) / 10)]
    const script = 'echo $$ > "$0" && exec "$@"'
    const child = spawn('bash', [
      '-c',
      script,
      join(group, 'cgroup.procs'),
      process.execPath,
      ...args,
    ])
    child.stderr.pipe(process.stderr)
    const closed = once(child, 'close')
    for await (const text of createInterface({ input: child.stdout })) {
      const point = JSON.parse(text) as MemoryPoint // safe: the program wrote it
      points.push(point)
      const { getsPerSecond, putsPerSecond } = point
      const isWithin = getsPerSecond >= GETS_MIN && putsPerSecond >= PUTS_MIN
      print({
        bench: 'larger-than-memory',
        case: `${Math.round(memory / 1e6)} MB`,
        ...point,
        isWithin,
      })
    }
    if ((await closed)[0] !== 0) throw new Error('The program failed in its cgroup.')
  } finally {
    rmSync(directory, { recursive: true })
    rmdirSync(group)
  }
  writeFileSync(PLOT, memoryPlot(points, memory))
}

/** A cgroup of version 1 or 2. */
function makeGroup(bytes: number): string {
  const isFirst = existsSync('/sys/fs/cgroup/memory')
  const group = join(
    isFirst ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup',
    `prestige-${process.pid}`,
  )
  mkdirSync(group)
  writeFileSync(join(group, isFirst ? 'memory.limit_in_bytes' : 'memory.max'), String(bytes))
  return group
}
