/**
 * Texts that people wrote: the labelled articles, and what the packages this one is built with bring along.
 *
 * None of them is in this repository. Where the articles are missing, tests say so loudly, and fail in CI.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { randomWords } from '../../src/fingerprint/mix.ts'
import { shuffled } from '../table-model.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ARTICLES = join(process.env['PRESTIGE_DATA'] ?? join(ROOT, '../shared/data'), 'articles')

export interface Article {
  readonly id: string
  readonly text: string
}

const hasArticles = existsSync(join(ARTICLES, 'articles_1000.train'))

/** To be asked before a test that needs the articles: in CI it runs, and fails where there are none. */
export function canTestArticles(): boolean {
  if (!hasArticles) process.emitWarning(`NOT TESTED: the labelled articles are not at ${ARTICLES}.`)
  return hasArticles || process.env['CI'] !== undefined
}

export function articlesOf(count: 100 | 1000): Article[] {
  return linesOf(`articles_${count}.train`).map((line) => {
    const gap = line.indexOf(' ')
    return { id: line.slice(0, gap), text: line.slice(gap + 1) }
  })
}

/** Pairs of ids, each in order, all in order: `t1088 t5015`. */
export function plantedPairs(count: 100 | 1000): string[] {
  return linesOf(`articles_${count}.truth`)
    .map((line) => line.split(/\s+/).toSorted().join(' '))
    .toSorted()
}

function linesOf(name: string): string[] {
  return readFileSync(join(ARTICLES, name), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

/** The texts of packages whose path is as wanted, every text once, in the order of their paths. */
export function packageTexts(wanted: RegExp, charactersMin: number): string[] {
  const texts = new Set<string>()
  const paths = readdirSync(join(ROOT, 'node_modules'), { recursive: true, encoding: 'utf8' })
  for (const path of paths.toSorted()) {
    if (!wanted.test(path)) continue
    try {
      const text = readFileSync(join(ROOT, 'node_modules', path), 'utf8')
      if (text.length >= charactersMin) texts.add(text.slice(0, 40_000))
    } catch {
      // A directory of that name.
    }
  }
  return [...texts]
}

/** Licences and read-mes: many are one text with other names in it. */
export function licenceTexts(): string[] {
  return packageTexts(/(licen[cs]e|notices?|copying|readme)[^/\\]*$/i, 500)
}

/**
 * Writes UTF-8 in lower case with the letters a to z in another order. No similarity changes, and every hash
 * does: so a fixed hash function is judged over many orders as a random one would be over many seeds.
 */
export function alphabet(seed: number): (utf8: Uint8Array) => Uint8Array {
  const to = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  shuffled(26, randomWords(seed)).forEach((letter, at) => (to[97 + at] = 97 + letter))
  return (utf8) => utf8.map((byte) => to[byte] ?? byte)
}
