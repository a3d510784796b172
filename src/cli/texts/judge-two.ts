/** `explain A B --judge FILE`: what a judge says about two texts, and why. */

import {
  cutFor,
  explainJudgement,
  judged,
  type Judgement,
  type JudgeModel,
  judgeTexts,
} from '../../compare/index.ts'
import { Failure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { judgeNamed } from '../call/judgement.ts'

const DECISION_CUT = 0.5

export interface JudgedPair extends Judgement {
  readonly isDuplicate: boolean
  /** Least probability of duplicates. */
  readonly cut: number
  /** That is promised at the cut; `undefined`: none was asked for. */
  readonly precision: number | undefined
}

export async function judgedTexts(
  invocation: Invocation,
  name: string,
  a: string | Buffer,
  b: string | Buffer,
): Promise<JudgedPair> {
  const model = await judgeNamed(name)
  const precision = invocation.share('precision')
  const cut = precision === undefined ? DECISION_CUT : cutFor(model, precision)
  const cosine = model.needsCosine ? await cosineOf(model, a, b, invocation.signal) : undefined
  const judgement = judgeTexts(model, judged(a), judged(b), { cosine, cut })
  return { ...judgement, isDuplicate: judgement.probability >= cut, cut, precision }
}

export function judgementText(pair: JudgedPair): string {
  const [decision = '', ...reasons] = explainJudgement(pair, pair.cut)
  const asked = pair.precision === undefined ? '' : ` for a precision of ${pair.precision}`
  return [`  judge: ${decision}${asked}`, ...reasons.map((reason) => `    ${reason}`), ''].join(
    '\n',
  )
}

async function cosineOf(
  model: JudgeModel,
  a: string | Buffer,
  b: string | Buffer,
  signal: AbortSignal,
): Promise<number> {
  const { openEmbedder, semanticSimilarities } = await import('../../semantic/index.ts')
  const embedder = await openEmbedder()
  try {
    if (model.embedder !== null && model.embedder !== embedder.id) {
      throw new Failure(
        'invalid',
        'EMBEDDER_MISMATCH',
        `This judge was fitted with cosines by ${model.embedder}, and explain uses ${embedder.id}.`,
      )
    }
    const [cosine = 0] = await semanticSimilarities(
      [{ a: a.toString(), b: b.toString() }],
      embedder,
      signal,
    )
    return cosine
  } finally {
    await embedder.close()
  }
}
