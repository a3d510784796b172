/**
 * What does `prestige import` cost a file, against reading the same files and putting them into plain lmdb?
 *
 * The files are those of node_modules; with a scale below 1, of its first packages. Ours counts the whole
 * process, its start included; the reference counts the work alone.
 */

import { cp, mkdir, readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Bench, Fixture, Place, Sample } from './harness/bench.ts'
import { diskBytes, measure } from './harness/measure.ts'
import { cliMissing, cliPath, timeNode } from './harness/programs.ts'
import { openRaw } from './harness/raw.ts'

const NODE_MODULES = fileURLToPath(new URL('../node_modules', import.meta.url))
const BATCH = 100

const fixture: Fixture = {
  name: 'files',
  async build({ directory, scale }) {
    await mkdir(join(directory, 'files'))
    const packages = (await readdir(NODE_MODULES))
      .filter((name) => !name.startsWith('.'))
      .toSorted()
    const wanted = packages.slice(0, Math.max(1, Math.round(packages.length * Math.min(1, scale))))
    for (const name of wanted) {
      const target = join(directory, 'files', name)
      await cp(join(NODE_MODULES, name), target, { recursive: true, dereference: true })
    }
  },
}

async function filesOf(directory: string): Promise<{ files: string[]; root: string }> {
  const root = join(directory, 'files')
  const found = await readdir(root, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => entry.isFile())
  return { root, files: files.map((entry) => join(entry.parentPath, entry.name)).toSorted() }
}

async function ours({ directory }: Place): Promise<Sample> {
  const { files, root } = await filesOf(directory)
  const store = join(directory, 'store')
  const sample = await timeNode([cliPath, 'import', root, '--store', store])
  return { ...sample, ops: files.length, diskBytes: await diskBytes(store) }
}

async function reference(place: Place): Promise<Sample> {
  const { files, root } = await filesOf(place.directory)
  const store = join(place.directory, 'store')
  const raw = openRaw(store, 'fsync')
  const sample = await measure({ ops: files.length, place }, async () => {
    for (let from = 0; from < files.length; from += BATCH) {
      const batch = files.slice(from, from + BATCH)
      const contents = await Promise.all(batch.map((file) => readFile(file)))
      await raw.childTransaction(() => {
        for (const [at, file] of batch.entries()) {
          raw.putSync(Buffer.from(relative(root, file).replaceAll(sep, '/')), contents[at]!)
        }
      })
    }
  })
  await raw.close()
  return { ...sample, diskBytes: await diskBytes(store) }
}

export const bench: Bench = {
  name: 'import',
  question: 'What does importing a directory cost a file, against reading it into plain lmdb?',
  skip: cliMissing,
  cases: [
    {
      name: 'node_modules, fsync',
      changesFixture: true,
      ours: { fixture, run: ours },
      reference: { name: 'readFile and lmdb, batches of 100', fixture, run: reference },
    },
  ],
}
