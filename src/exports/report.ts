/** Results of a run: as data, as text, as a page, and as measurements. */

export { htmlReport, reportOf, samplePairs, sendMetrics, textReport } from '../report/index.ts'
export type {
  Dominance,
  Matrix,
  MethodLine,
  Report,
  ReportOptions,
  SamplePair,
  SimilarityBin,
  SizeBin,
  SourceLine,
  TextOptions,
} from '../report/index.ts'
export { restoreText } from '../dedupe/index.ts'
export type { CutSpan, PassageDocumentLine, PassageLine } from '../dedupe/index.ts'
