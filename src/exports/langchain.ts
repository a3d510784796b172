/** The subpath `langchain`: a record manager, a cache and a byte store for LangChain.js. */

export {
  type ByteStoreOptions,
  PrestigeByteStore,
  PrestigeCache,
  PrestigeRecordManager,
  type RecordManagerOptions,
} from '../adapters/langchain.ts'
export type { RecordFilter, RecordUpdate } from '../adapters/langchain-records.ts'
export {
  type AnswerCache,
  type AnswerCall,
  storedAnswers,
  type StoredAnswersOptions,
} from '../adapters/answers.ts'
