/** Results of a run: as data, as text, as a page, and as measurements. */

export { htmlReport } from './html-report.ts'
export type { Dominance, Matrix } from './matrix.ts'
export { sendMetrics } from './metrics.ts'
export {
  type MethodLine,
  type Report,
  reportOf,
  type ReportOptions,
  type SimilarityBin,
  type SizeBin,
  type SourceLine,
} from './report.ts'
export { alignedTexts, type SamplePair, samplePairs } from './sample-pairs.ts'
export { type TextOptions, textReport } from './text-report.ts'
