/**
 * Text to windows of token ids, by the tokenizer the model was trained with.
 *
 * A text is tokenised once, as a whole; then its tokens are cut into windows that overlap. A text of several windows
 * has a short one more for its end, since another ending may be a small part of the window it falls into. Every window
 * gets the model's prefix and the marks of beginning and end.
 */

import { PrestigeError } from '../../platform/errors.ts'

/** What is used of `@huggingface/tokenizers`. */
export interface Encoder {
  encode(
    text: string,
    options: { add_special_tokens: boolean },
  ): { readonly ids: readonly number[] }
}

export interface WindowOptions {
  readonly prefix: string
  readonly tokensMax: number
  readonly overlapTokens: number
  readonly windowsMax: number
}

export async function openEncoder(tokenizer: object, config: object): Promise<Encoder> {
  const { Tokenizer } = await import('@huggingface/tokenizers').catch((cause: unknown) => {
    throw new PrestigeError(
      'MODEL_NOT_FOUND',
      'The tokenizer is not installed. Run: npm install @huggingface/tokenizers',
      { cause },
    )
  })
  try {
    return new Tokenizer(tokenizer, config)
  } catch (cause) {
    throw new PrestigeError('MODEL_CORRUPT', 'tokenizer.json is not one that can be used.', {
      cause,
    })
  }
}

/** The last window is so many times shorter than the others. */
const END_SHARE = 4

export class TokenWindows {
  readonly #encoder: Encoder
  readonly #options: WindowOptions
  readonly #before: readonly number[]
  readonly #after: readonly number[]
  /** Tokens of the text itself in one window. */
  readonly #room: number

  constructor(encoder: Encoder, options: WindowOptions) {
    this.#encoder = encoder
    this.#options = options
    const { before, after } = marksOf(encoder)
    // Without the space at its end, which tokenizers that keep spaces would count twice.
    const prefix = options.prefix === '' ? [] : this.#tokens(options.prefix.trimEnd())
    this.#before = [...before, ...prefix]
    this.#after = after
    this.#room = options.tokensMax - this.#before.length - after.length
    if (this.#room <= options.overlapTokens) {
      throw new PrestigeError(
        'INVALID_OPTIONS',
        `Windows of ${options.tokensMax} tokens that share ${options.overlapTokens} leave no room for text.`,
      )
    }
  }

  /** At least one; an empty text has a window of marks alone. */
  cut(text: string): number[][] {
    const { overlapTokens, windowsMax } = this.#options
    const ids = this.#tokens(text)
    const step = this.#room - overlapTokens
    const count = Math.max(1, Math.ceil((ids.length - overlapTokens) / step))
    if (count > windowsMax) {
      throw new PrestigeError(
        'INVALID_VALUE',
        `A text of ${ids.length} tokens has ${count} windows, and windowsMax is ${windowsMax}. Split it, or raise windowsMax.`,
      )
    }
    const parts = Array.from({ length: count }, (_, at) =>
      ids.slice(at * step, at * step + this.#room),
    )
    if (count > 1) parts.push(ids.slice(-Math.ceil(this.#room / END_SHARE)))
    return parts.map((part) => this.#before.concat(part, this.#after))
  }

  #tokens(text: string): readonly number[] {
    return this.#encoder.encode(text, { add_special_tokens: false }).ids
  }
}

/** What the tokenizer puts around a text, found by asking it. */
function marksOf(encoder: Encoder): { before: readonly number[]; after: readonly number[] } {
  const bare = encoder.encode('a', { add_special_tokens: false }).ids
  const marked = encoder.encode('a', { add_special_tokens: true }).ids
  const at = marked.findIndex((_, from) => bare.every((id, next) => marked[from + next] === id))
  if (at < 0 || bare.length === 0) {
    throw new PrestigeError('MODEL_CORRUPT', 'The tokenizer changes a text when it marks its ends.')
  }
  return { before: marked.slice(0, at), after: marked.slice(at + bare.length) }
}
