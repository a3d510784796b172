/**
 * Tallies against a count of the rows.
 *
 * A scan is not from one moment. Numbers that differ are only believed when the rows counted were the very
 * same twice in a row, and the tallies as well: then nobody was writing, and the tallies are wrong.
 */

import { createHash } from 'node:crypto'

import type { Bytes } from '../../platform/bytes.ts'
import type { ReadScope, Scope, Space, Transaction } from '../../backends/index.ts'
import {
  count,
  type Counts,
  countStored,
  readCounts,
  readStored,
  type StoredCounts,
} from '../tallies.ts'
import { deltaIn, heldBytes } from '../contents/delta-rows.ts'
import { chunkRowOf, entryOf, knownOf, raw } from './raw.ts'
import type { Walk } from './walk.ts'

const ROUNDS_MAX = 4

type Numbers<Name extends string> = Readonly<Record<Name, number>>

/** Tallies, and the rows they are of. */
interface Tallied<Name extends string> {
  /** What messages call them. */
  readonly title: string
  readonly names: readonly Name[]
  readonly read: (scope: ReadScope) => Transaction<Numbers<Name>>
  readonly sources: readonly Source<Name>[]
  readonly add: (scope: Scope, change: Numbers<Name>) => void
}

interface Source<Name extends string> {
  readonly space: Space<Bytes>
  /** How much a row adds. With an unreadable row, nothing is compared. */
  readonly countsOf: (row: Bytes) => Partial<Numbers<Name | 'unreadable'>>
}

interface Round<Name extends string> {
  readonly counts: Record<Name | 'unreadable', number>
  readonly tallies: Numbers<Name>
  /** The tallies were the same before and after. */
  readonly isQuiet: boolean
  /** Says which rows and which tallies there were. */
  readonly print: string
}

const STORE_TALLIES: Tallied<keyof Counts> = {
  title: 'The tallies',
  names: ['keys', 'keysWithExpiry', 'valueBytes', 'contents', 'contentBytes'],
  read: readCounts,
  sources: [
    {
      space: raw.entries,
      countsOf(row) {
        const entry = entryOf(row)
        if (!entry) return { keys: 1, unreadable: 1 }
        const keysWithExpiry = entry.expiresAt === undefined ? 0 : 1
        return { keys: 1, valueBytes: entry.bytes, keysWithExpiry }
      },
    },
    {
      space: raw.digests,
      countsOf(row) {
        const known = knownOf(row)
        return known ? { contents: 1, contentBytes: known.bytes } : { contents: 1, unreadable: 1 }
      },
    },
  ],
  add: count,
}

/** `before`: the tallies when the check began. */
export async function compareTallies(walk: Walk, before: Counts): Promise<void> {
  const after = await walk.backend.read(readCounts)
  const { names } = STORE_TALLIES
  const isSame = names.every(
    (name) => before[name] === after[name] && after[name] === walk.counts[name],
  )
  if (walk.hasRepaired || !isSame) walk.counts = await checkTallies(walk, STORE_TALLIES)
}

/** How contents are kept: of a row that cannot be read, nothing is counted. */
function storedTallies({ how: { layout } }: Walk): Tallied<keyof StoredCounts> {
  return {
    title: 'The tallies of what is stored',
    names: ['compressedBytes', 'chunkedBytes', 'chunkBytes', 'packBytes'],
    read: readStored,
    sources: [
      {
        space: raw.contents,
        countsOf(row) {
          const value = layout.readable(row)
          if (!value) return { unreadable: 1 }
          return { compressedBytes: layout.savedBy(row, value.byteLength) }
        },
      },
      {
        space: raw.deltas,
        countsOf(row) {
          const delta = deltaIn(row)
          return delta ? { compressedBytes: delta.bytes - row.byteLength } : { unreadable: 1 }
        },
      },
      {
        space: raw.heldBases,
        countsOf(row) {
          const bytes = heldBytes(row)
          return bytes === undefined ? { unreadable: 1 } : { compressedBytes: -bytes }
        },
      },
      {
        space: raw.digests,
        countsOf(row) {
          const known = knownOf(row)
          if (!known) return { unreadable: 1 }
          return { chunkedBytes: layout.isLong(known.bytes) ? known.bytes : 0 }
        },
      },
      {
        space: raw.chunks,
        countsOf(row) {
          const chunk = chunkRowOf(row)
          return chunk ? { chunkBytes: chunk.bytes } : { unreadable: 1 }
        },
      },
      { space: raw.packs, countsOf: ({ byteLength }) => ({ packBytes: byteLength }) },
    ],
    add: countStored,
  }
}

export async function compareStored(walk: Walk): Promise<void> {
  await checkTallies(walk, storedTallies(walk))
}

/** Returns what was counted. */
export async function checkTallies<Name extends string>(
  walk: Walk,
  tallied: Tallied<Name>,
): Promise<Record<Name, number>> {
  const { title, names } = tallied
  let last: Round<Name> | undefined
  for (let rounds = 1; ; rounds++) {
    const round = await recount(walk, tallied)
    const { counts, tallies, isQuiet, print } = round
    const wrong = names.filter((name) => counts[name] !== tallies[name])
    const isConfirmed = isQuiet && last?.isQuiet && last.print === print
    if (counts.unreadable > 0) {
      walk.findings.note(`${title} were not compared: some rows cannot be read.`)
    } else if (isConfirmed && wrong.length > 0) {
      await foundWrong(walk, tallied, round, wrong)
    } else if (!isQuiet || wrong.length > 0) {
      last = round
      if (rounds < ROUNDS_MAX) continue
      walk.findings.note(`${title} were not compared: the store was written to all the time.`)
    }
    return counts
  }
}

async function recount<Name extends string>(
  walk: Walk,
  { names, sources, read }: Tallied<Name>,
): Promise<Round<Name>> {
  const zeros = [...names, 'unreadable' as const].map((name) => [name, 0])
  const counts: Record<Name | 'unreadable', number> = Object.fromEntries(zeros)
  const sha256 = createHash('sha256')
  const before = await walk.backend.read(read)
  for (const { space, countsOf } of sources) {
    for await (const { key, value } of walk.scan(space)) {
      sha256.update(key).update(value)
      const added = countsOf(value)
      for (const name of names) counts[name] += added[name] ?? 0
      counts.unreadable += added.unreadable ?? 0
    }
  }
  const tallies = await walk.backend.read(read)
  sha256.update(JSON.stringify(tallies))
  const isQuiet = names.every((name) => before[name] === tallies[name])
  return { counts, tallies, isQuiet, print: sha256.digest('hex') }
}

async function foundWrong<Name extends string>(
  walk: Walk,
  { title, names, add }: Tallied<Name>,
  { counts, tallies }: Round<Name>,
  wrong: readonly Name[],
): Promise<void> {
  const list = wrong.map((name) => `${name} is ${tallies[name]}, counted were ${counts[name]}`)
  const change: Record<Name, number> = { ...counts }
  for (const name of names) change[name] -= tallies[name]
  const canAdd = names.every((name) => Number.isSafeInteger(change[name]))
  // oxlint-disable-next-line require-yield -- a body that reads nothing is one too
  const body = function* (scope: Scope): Transaction<boolean> {
    if (canAdd) add(scope, change)
    return canAdd
  }
  const mend = () => walk.backend.run(body)
  await walk.found('tallies-wrong', `${title} are wrong: ${list.join('; ')}.`, [], mend)
}
