/**
 * `verify`: what was read, what is wrong, and an exit code that says whether the store is sound; with --salvage, a copy of
 * what is readable and right.
 */

import type { VerifyReport } from '../../index.ts'
import type { LocationReport } from '../../location/index.ts'
import type { Lost, Problem } from '../../store/index.ts'
import { EXIT_CORRUPT, Failure, systemCode, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { paint, print, printJson } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { countOf, size } from '../print/units.ts'
import { choice, existingLocationOf, storeInput } from '../call/with-store.ts'

const KEYS_NAMED_MAX = 5

export async function run(invocation: Invocation): Promise<number> {
  const target = invocation.text('salvage')
  if (target !== undefined) return salvage(invocation, target)
  const store = await verifyStore(invocation)
  const others = await verifyOthers(invocation, store === undefined)
  const all = [...(store ? [{ kind: 'store' as const, ...store }] : []), ...others]
  for (const report of all) {
    if (invocation.flag('json')) await printJson(report)
    else if (!report.isSound || !invocation.flag('quiet'))
      await print('keys' in report ? textOf(report) : otherText(report))
  }
  return all.every(({ isSound }) => isSound) ? 0 : EXIT_CORRUPT
}

/** `undefined`: there is none. */
async function verifyStore(invocation: Invocation): Promise<VerifyReport | undefined> {
  const location = existingLocationOf(invocation)
  const { verifyStore: verify } = await import('../../store/index.ts')
  const progress = Progress.of(invocation, 'row')
  try {
    const input = {
      ...(await storeInput(invocation)),
      durability: choice(invocation, 'durability'),
    }
    return await verify(location, input, {
      repair: invocation.flag('repair'),
      signal: invocation.signal,
      onSize: (bytes) => progress.expect({ bytes }),
      onProgress: ({ rows, bytes }) => progress.reach(rows, bytes),
    })
  } catch (error) {
    if (systemCode(error) === 'STORE_NOT_FOUND') return undefined
    throw error
  } finally {
    progress.end()
  }
}

/** Resolvers, ledgers and states of dedupe. */
async function verifyOthers(invocation: Invocation, isAlone: boolean): Promise<LocationReport[]> {
  const { verifyLocation } = await import('../../location/index.ts')
  const progress = Progress.of(invocation, 'row')
  try {
    const reports = await verifyLocation(existingLocationOf(invocation), {
      namespace: invocation.text('namespace'),
      signal: invocation.signal,
      onProgress: ({ rows, bytes }) => progress.reach(rows, bytes),
    })
    if (reports.length === 0 && isAlone) {
      const message = 'There is nothing of this namespace at this location.'
      throw new Failure('missing', 'STORE_NOT_FOUND', message)
    }
    if (isAlone && invocation.flag('repair')) {
      throw usageFailure('Only a store can be repaired, and there is none here.')
    }
    return reports
  } finally {
    progress.end()
  }
}

function otherText({ kind, rows, problems, problemCount, isSound }: LocationReport): string {
  const verdict = isSound ? paint('green', 'sound') : paint('red', 'damaged')
  const found = problemCount > 0 ? `, ${countOf(problemCount, 'problem')}` : ''
  const lines = problems.map(({ kind: what, space, key, message }) => {
    const where = [space, key && `"${notationOf(key)}"`].filter(Boolean).join(' ')
    return `${what}: ${where ? `${where}: ` : ''}${message}\n`
  })
  return `${lines.join('')}${kind} ${verdict}: ${countOf(rows, 'row')}${found}\n`
}

/** What is lost goes to stdout as it is found, a line each; the sum comes last. */
async function salvage(invocation: Invocation, target: string): Promise<number> {
  if (invocation.flag('repair')) {
    throw usageFailure(
      '--salvage leaves the store as it is, and --repair changes it: say one of them.',
    )
  }
  const location = existingLocationOf(invocation)
  const { salvageStore } = await import('../../store/index.ts')
  const isJson = invocation.flag('json')
  const progress = Progress.of(invocation, 'key')
  const onLost = (lost: Lost) => (isJson ? printJson({ lost }) : print(lostLine(lost)))
  const namespace = invocation.text('namespace')
  try {
    const { signal } = invocation
    const onKey = (bytes: number) => progress.advance(bytes)
    const salvaged = await salvageStore(location, target, { namespace }, { signal, onKey, onLost })
    progress.end()
    const { keys, bytes, lost } = salvaged
    if (isJson) await printJson({ salvaged })
    else if (lost > 0 || !invocation.flag('quiet')) {
      const sum = lost > 0 ? paint('red', `${lost} lost`) : paint('green', 'nothing lost')
      await print(`${target}: ${countOf(keys, 'key')}, ${size(bytes)}; ${sum}\n`)
    }
    return lost > 0 ? EXIT_CORRUPT : 0
  } finally {
    progress.end()
  }
}

function lostLine({ key, space, after, reason }: Lost): string {
  if (key) return `lost: "${notationOf(key)}": ${reason}\n`
  const where = after ? ` behind row "${notationOf(after)}"` : ''
  return `lost: rows of ${space ?? 'the store'}${where}: ${reason}\n`
}

function textOf({ keys, contents, contentBytes, problems, isSound }: VerifyReport): string {
  const read = `${countOf(keys, 'key')}, ${countOf(contents, 'content')}, ${size(contentBytes)}`
  const verdict = isSound ? paint('green', 'sound') : paint('red', 'damaged')
  const found = problems.length > 0 ? `, ${countOf(problems.length, 'problem')}` : ''
  return `${problems.map(lineOf).join('')}${verdict}: ${read}${found}\n`
}

function lineOf({ kind, message, keys, repaired }: Problem): string {
  const named = keys.slice(0, KEYS_NAMED_MAX).map((key) => `"${notationOf(key)}"`)
  const more = keys.length - named.length
  const who = named.length > 0 ? ` [${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}]` : ''
  return `${kind}: ${message}${who}${repaired ? ' (repaired)' : ''}\n`
}
