/** The subpath `ai-sdk`: middleware for language models of the AI SDK that gives answers again. */

export {
  type AnswersMiddleware,
  cachedAnswers,
  type CachedAnswersOptions,
} from '../adapters/ai-sdk.ts'
export {
  type AnswerCache,
  type AnswerCall,
  storedAnswers,
  type StoredAnswersOptions,
} from '../adapters/answers.ts'
