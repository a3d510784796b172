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
    options: { add_special_tokens: boolean; text_pair?: string; return_token_type_ids?: boolean },
  ): { readonly ids: readonly number[]; readonly token_type_ids?: readonly number[] }
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

/** Two texts as a model reads them together: tokens, and which of the two each belongs to. */
export interface TokenPair {
  readonly ids: readonly number[]
  readonly types: readonly number[]
}

/** Tokens that come around and between two texts are found by asking the tokenizer. */
export class PairEncoder {
  readonly #encoder: Encoder
  readonly #room: number
  readonly #probe: TokenPair
  readonly #first: number
  readonly #second: number

  constructor(encoder: Encoder, tokensMax: number) {
    this.#encoder = encoder
    const options = { add_special_tokens: true, text_pair: 'a', return_token_type_ids: true }
    const { ids, token_type_ids: types = ids.map(() => 0) } = encoder.encode('a', options)
    const own = this.#tokens('a')
    this.#probe = { ids, types }
    this.#first = ids.indexOf(own[0] ?? -1)
    this.#second = ids.lastIndexOf(own[0] ?? -1)
    this.#room = tokensMax - ids.length + 2
    if (own.length !== 1 || this.#first === this.#second) {
      throw new PrestigeError('MODEL_CORRUPT', 'The tokenizer does not take two texts.')
    }
  }

  encode(a: string, b: string): TokenPair {
    const [one, other] = fitting(this.#tokens(a), this.#tokens(b), this.#room)
    const { ids, types } = this.#probe
    const [first, second] = [this.#first, this.#second]
    const filled = (marks: readonly number[], own: readonly number[], its: readonly number[]) =>
      marks
        .slice(0, first)
        .concat(own, marks.slice(first + 1, second), its, marks.slice(second + 1))
    const typed = (count: number, at: number) => Array<number>(count).fill(types[at] ?? 0)
    return {
      ids: filled(ids, one, other),
      types: filled(types, typed(one.length, first), typed(other.length, second)),
    }
  }

  #tokens(text: string): readonly number[] {
    return this.#encoder.encode(text, { add_special_tokens: false }).ids
  }
}

/** The longer one is cut until both have room; what is shorter than half of it stays whole. */
function fitting(a: readonly number[], b: readonly number[], room: number) {
  const half = Math.floor(room / 2)
  const first = Math.min(a.length, Math.max(half, room - b.length))
  return [a.slice(0, first), b.slice(0, room - first)] as const
}
