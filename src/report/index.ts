/** Results of a run: as data, as text, as a page, and as measurements. */

export { htmlReport } from './html-report.ts'
export type { Dominance, Matrix } from './matrix.ts'
export { sendMetrics } from './metrics.ts'
export {
  type MethodLine,
  ALL_RUNS,
  type Report,
  reportOf,
  reportOfAll,
  type ReportOptions,
  type SimilarityBin,
  type SizeBin,
  type SourceLine,
} from './report.ts'
export {
  alignedTexts,
  type SamplePair,
  samplePairs,
  type Samples,
  samplesOf,
} from './sample-pairs.ts'
export { type RunLine, runLines } from './runs.ts'
export { type TextOptions, textReport } from './text-report.ts'
export { lacksReport, pageOf, writeReports } from './write-report.ts'
