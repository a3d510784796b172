/** The judges that ship with the package: by form alone, or also by meaning. */

import * as weights from './default-judges.ts'
import { type JudgeModel, readJudge } from './model.ts'

export interface DefaultJudgeOptions {
  /** The one that also takes a cosine, by the built-in embedder. Default: false. */
  readonly cosine?: boolean | undefined
}

const read = new Map<boolean, JudgeModel>()

export function defaultJudge({ cosine = false }: DefaultJudgeOptions = {}): JudgeModel {
  let model = read.get(cosine)
  if (model === undefined) {
    model = readJudge(cosine ? weights.meaning : weights.form)
    read.set(cosine, model)
  }
  return model
}
