/** What is near in meaning, and why it is not the same, in words. */

import type { Refused, SemanticVeto } from '../../store/index.ts'
import { notationOf } from './key-notation.ts'
import { percent } from './units.ts'

export function refusal(refused: Refused | undefined): string {
  if (!refused) return ''
  const { of, similarity, vetoes } = refused
  return `; "${notationOf(of.firstKey)}" is ${percent(similarity)} alike, but ${vetoText(vetoes)}`
}

export function vetoText(vetoes: readonly SemanticVeto[]): string {
  return vetoes.map((veto) => reasonOf(veto)).join('; ')
}

function reasonOf(veto: SemanticVeto): string {
  if (veto.guard === 'judge') {
    return veto.said === 'no' ? 'the judge said no' : `the judge was ${JUDGE[veto.said]}`
  }
  if (veto.guard === 'rerank') return `the reranker gave ${veto.score ?? 'nothing'}`
  const sides = [veto.a, veto.b].map((words) => words.join(', ') || 'nothing')
  return `${veto.guard} differ (${sides.join(' / ')})`
}

const JUDGE = { nothing: 'of no help', 'not asked': 'not asked' } as const
