/**
 * The tallies against a count of the rows.
 *
 * A scan is not from one moment. Numbers that differ are only believed when the rows counted were the very
 * same twice in a row, and the tallies as well: then nobody was writing, and the tallies are wrong.
 */

import { createHash } from 'node:crypto'

import { type Counts, correctCounts, readCounts } from '../tallies.ts'
import { entryOf, knownOf, raw } from './raw.ts'
import { type MutableCounts, noCounts, type Walk } from './walk.ts'

const ROUNDS_MAX = 4
const NAMES = ['keys', 'keysWithExpiry', 'valueBytes', 'contents', 'contentBytes'] as const

interface Round {
  readonly counts: MutableCounts
  readonly tallies: Counts
  /** The tallies were the same before and after. */
  readonly isQuiet: boolean
  /** Says which rows were counted. */
  readonly print: string
  readonly unreadable: number
}

/** `before`: the tallies when the check began. */
export async function compareTallies(walk: Walk, before: Counts): Promise<void> {
  const after = await walk.backend.read(readCounts)
  if (!walk.hasRepaired && isSame(before, after) && isSame(after, walk.counts)) return
  let last: Round | undefined
  for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
    const round = await recount(walk)
    walk.counts = round.counts
    if (round.unreadable > 0) {
      return walk.findings.note('The tallies were not compared: some rows cannot be read.')
    }
    if (round.isQuiet && isSame(round.counts, round.tallies)) return
    if (last && isConfirmed(last, round)) return foundWrong(walk, round)
    last = round
  }
  walk.findings.note('The tallies were not compared: the store was written to all the time.')
}

async function recount(walk: Walk): Promise<Round> {
  const counts = noCounts()
  const sha256 = createHash('sha256')
  let unreadable = 0
  const before = await walk.backend.read(readCounts)
  for await (const { key, value } of walk.scan(raw.entries)) {
    const entry = entryOf(value)
    if (!entry) unreadable++
    sha256.update(key).update(value)
    counts.keys++
    counts.valueBytes += entry?.bytes ?? 0
    if (entry?.expiresAt !== undefined) counts.keysWithExpiry++
  }
  for await (const { key, value } of walk.scan(raw.digests)) {
    const known = knownOf(value)
    if (!known) unreadable++
    sha256.update(key).update(value)
    counts.contents++
    counts.contentBytes += known?.bytes ?? 0
  }
  const tallies = await walk.backend.read(readCounts)
  const isQuiet = isSame(before, tallies)
  return { counts, tallies, isQuiet, print: sha256.digest('hex'), unreadable }
}

function isConfirmed(last: Round, round: Round): boolean {
  const isQuiet = last.isQuiet && round.isQuiet && isSame(last.tallies, round.tallies)
  return isQuiet && last.print === round.print
}

async function foundWrong(walk: Walk, { counts, tallies }: Round): Promise<void> {
  const wrong = NAMES.filter((name) => counts[name] !== tallies[name])
  const told = wrong.map((name) => `${name} is ${tallies[name]}, counted were ${counts[name]}`)
  const change = Object.fromEntries(wrong.map((name) => [name, counts[name] - tallies[name]]))
  const canAdd = Object.values(change).every((delta) => Number.isSafeInteger(delta))
  await walk.found('tallies-wrong', `The tallies are wrong: ${told.join('; ')}.`, [], async () => {
    if (canAdd) await walk.backend.run(correctCounts, change)
    return canAdd
  })
}

function isSame(one: Counts, other: Counts): boolean {
  return NAMES.every((name) => one[name] === other[name])
}
