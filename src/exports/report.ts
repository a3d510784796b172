/** Results of a run: as data, as text, as a page, and as measurements; and what a Deduper says of its decisions. */

export {
  htmlReport,
  reportOf,
  reportOfAll,
  samplePairs,
  samplesOf,
  sendMetrics,
  textReport,
} from '../report/index.ts'
export type {
  Dominance,
  Matrix,
  MethodLine,
  Report,
  ReportOptions,
  RunLine,
  SamplePair,
  Samples,
  SimilarityBin,
  SizeBin,
  SourceLine,
  TextOptions,
} from '../report/index.ts'
export { restoreText } from '../dedupe/index.ts'
export type { CutSpan, PassageDocumentLine, PassageLine } from '../dedupe/index.ts'
export type {
  ChangedSetting,
  CloseCall,
  CloseCalls,
  CloseCallsOptions,
  ClusteredDocument,
  ClustersOptions,
  DocumentCluster,
  DocumentExplanation,
  DocumentFilter,
  DocumentInfo,
  NearDocument,
  OtherOutcome,
} from '../dedupe/index.ts'
