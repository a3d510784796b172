/** What decides whether similar texts are the same: `--precision`, `--judge` and `--no-guards`. */

import { readFileSync } from 'node:fs'

import type { JudgeModel } from '../../compare/index.ts'
import { Failure, fileFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'

export interface JudgementInput {
  readonly precision?: number
  readonly judge?: JudgeModel
  readonly guards?: false
}

export async function judgementInput(invocation: Invocation): Promise<JudgementInput> {
  const precision = invocation.share('precision')
  const name = invocation.text('judge')
  return {
    ...(precision !== undefined && { precision }),
    ...(name !== undefined && { judge: await judgeNamed(name) }),
    ...(invocation.flag('no-guards') && { guards: false }),
  }
}

/** A file, or one that ships with the package. */
export async function judgeNamed(name: string): Promise<JudgeModel> {
  const { defaultJudge, readJudge } = await import('../../compare/index.ts')
  if (name === 'default') return defaultJudge()
  if (name === 'default-semantic') return defaultJudge({ cosine: true })
  try {
    return readJudge(contentOf(name))
  } catch (error) {
    if (error instanceof Failure) throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new Failure('invalid', 'FORMAT_UNSUPPORTED', `--judge ${name}: ${message}`)
  }
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw fileFailure(path, error)
  }
}
