/**
 * Whether two texts whose vectors lie near each other are the same: guards, then a reranker, then a judge. Each can
 * say no; only a judge can say yes to what is less similar than the threshold.
 *
 * A judge gets the two texts as they are, apart, and is asked a limited number of times for one text; what it said of
 * a pair is remembered. Where it fails, takes too long, or may not be asked any more, the two are not the same.
 */

import { latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { Deadline } from '../../semantic/index.ts'
import { type Guards, type Reading, readingOf, type Veto, vetoesOf } from '../../compare/index.ts'
import type { Notes } from '../observe.ts'
import type { CheckedSemanticOptions } from './options.ts'

/** Why two texts are not the same: a guard's reasons, or what a reranker or judge said. */
export type SemanticVeto =
  | Veto
  | { readonly guard: 'rerank'; readonly score: number | undefined }
  | { readonly guard: 'judge'; readonly said: 'no' | 'nothing' | 'not asked' }

/** A text that is asked about, and what was asked of others for it. */
export interface Asking {
  readonly text: string
  readonly digest: Buffer
  readonly reading: Reading
  judgeCalls: number
}

export interface Other {
  readonly id: Buffer
  readonly text: string
  readonly similarity: number
}

const DECISIONS_MAX = 10_000

type JudgeAnswer = 'yes' | 'no' | 'nothing'

export class Arbiter {
  readonly #similarityMin: number
  readonly #guards: Guards
  readonly #options: CheckedSemanticOptions
  /** Of a text and a content: contents never change. */
  readonly #answers = new Map<string, JudgeAnswer>()
  readonly #scores = new Map<string, number>()
  readonly #rerankDeadline: Deadline

  constructor(similarityMin: number, guards: Guards, options: CheckedSemanticOptions) {
    this.#similarityMin = similarityMin
    this.#guards = guards
    this.#options = options
    this.#rerankDeadline = new Deadline('The reranker', options.callbackTimeoutMs)
  }

  /** What is less similar is not even asked about. */
  get least(): number {
    const { judge, judgeMin } = this.#options
    return judge && judgeMin !== undefined
      ? Math.min(judgeMin, this.#similarityMin)
      : this.#similarityMin
  }

  /** It is read when there is something to compare it with: most texts are like nothing that is there. */
  asking(text: string, digest: Buffer): Asking {
    let reading: Reading | undefined
    return {
      text,
      digest,
      get reading() {
        return (reading ??= readingOf(text))
      },
      judgeCalls: 0,
    }
  }

  guardsOf(own: Asking, other: string): Veto[] {
    return own.text === other ? [] : vetoesOf(own.reading, readingOf(other), this.#guards)
  }

  /** All that keeps the two apart; empty where they are the same. */
  async vetoes(own: Asking, other: Other, notes?: Notes): Promise<SemanticVeto[]> {
    const guards = this.guardsOf(own, other.text)
    if (guards.length > 0) return guards
    const pair = latin1(own.digest) + latin1(other.id)
    const reranked = await this.#rerank(own, other, pair, notes)
    if (reranked) return [reranked]
    const judged = await this.#judge(own, other, pair, notes)
    return judged ? [judged] : []
  }

  async #rerank(
    own: Asking,
    other: Other,
    pair: string,
    notes: Notes | undefined,
  ): Promise<SemanticVeto | undefined> {
    const { rerank, rerankMin = 0 } = this.#options
    if (!rerank) return undefined
    let score = this.#scores.get(pair)
    if (score === undefined) {
      const started = performance.now()
      score = await scoreOf(() =>
        this.#rerankDeadline.run((signal) => rerank(own.text, other.text, { signal })),
      )
      notes?.measure('prestige.semantic.rerank_us', (performance.now() - started) * 1000)
      if (score !== undefined) notes?.measure('prestige.semantic.reranker_score', score)
      // What failed may succeed another time.
      if (score !== undefined) remember(this.#scores, pair, score)
    }
    if (score === undefined || score < rerankMin) return { guard: 'rerank', score }
    notes?.count('prestige.semantic.reranker_hit')
    return undefined
  }

  async #judge(
    own: Asking,
    other: Other,
    pair: string,
    notes: Notes | undefined,
  ): Promise<SemanticVeto | undefined> {
    const { judge, judgeMax, judgeCallsMax } = this.#options
    if (!judge || other.similarity >= judgeMax) return undefined
    let answer = this.#answers.get(pair)
    if (answer === undefined) {
      if (own.judgeCalls >= judgeCallsMax) return { guard: 'judge', said: 'not asked' }
      own.judgeCalls++
      const started = performance.now()
      answer = await this.#ask(own, other)
      notes?.measure('prestige.semantic.judge_us', (performance.now() - started) * 1000)
      notes?.count(`prestige.semantic.judge_${NAMES[answer]}`)
      // What failed may succeed another time.
      if (answer !== 'nothing') remember(this.#answers, pair, answer)
    }
    return answer === 'yes' ? undefined : { guard: 'judge', said: answer }
  }

  async #ask({ text }: Asking, other: Other): Promise<JudgeAnswer> {
    const { judge, judgeTimeoutMs } = this.#options
    try {
      // One for each question: the answers to others say nothing about this one.
      const said = await new Deadline('The judge', judgeTimeoutMs).run((signal) =>
        judge?.(text, other.text, other.similarity, { signal }),
      )
      return said === true ? 'yes' : said === false ? 'no' : 'nothing'
    } catch {
      return 'nothing'
    }
  }
}

const NAMES = { yes: 'accepted', no: 'rejected', nothing: 'error' } as const

/** Of a reranker that fails: none. One that hangs fails the put: it would be asked of every candidate in turn. */
async function scoreOf(score: () => Promise<number>): Promise<number | undefined> {
  try {
    const number = await score()
    return Number.isFinite(number) ? number : undefined
  } catch (error) {
    if (error instanceof PrestigeError && error.code === 'CALLBACK_TIMEOUT') throw error
    return undefined
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > DECISIONS_MAX && oldest !== undefined) map.delete(oldest)
}
