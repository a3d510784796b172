/** The subpath `judge`: whether two texts are duplicates, as a probability that is explained and calibrated. */

export {
  cutFor,
  defaultJudge,
  explainJudgement,
  fitJudge,
  judged,
  judgeTexts,
  PrecisionUnproven,
  readJudge,
  tuneJudge,
} from '../compare/index.ts'
export type {
  Contribution,
  DefaultJudgeOptions,
  FitOptions,
  Flip,
  JudgeCut,
  Judged,
  JudgeExtra,
  JudgeFeature,
  Judgement,
  JudgeModel,
  JudgePair,
  JudgeTuneOptions,
  JudgeTuning,
  Mistake,
  NextLabels,
  OpenJudgePair,
  PrecisionPromise,
  PrecisionShortfall,
} from '../compare/index.ts'
