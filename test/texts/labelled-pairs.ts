/** Readers of the labelled sets that semantic mode is measured with, and the measure itself. */

export interface ScoredPair {
  readonly a: string
  readonly b: string
  /** 0 to 5, as people say. */
  readonly score: number
}

export interface LabelledPair {
  readonly a: string
  readonly b: string
  readonly isDuplicate: boolean
}

const rowsOf = (text: string) =>
  text
    .split(/\r?\n/)
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))

/** The STS benchmark: columns for genre, file, year, number, score, and two sentences. */
export function readStsb(text: string): ScoredPair[] {
  return rowsOf(text).map(([, , , , score, a = '', b = '']) => ({ a, b, score: Number(score) }))
}

/** The Microsoft Research Paraphrase Corpus: a header, then label, two ids and two sentences. */
export function readMrpc(text: string): LabelledPair[] {
  return rowsOf(text)
    .slice(1)
    .map(([label, , , a = '', b = '']) => ({ a, b, isDuplicate: label === '1' }))
}

/** How far two orders agree, from -1 to 1; equals share their rank. */
export function spearman(first: readonly number[], second: readonly number[]): number {
  return pearson(ranksOf(first), ranksOf(second))
}

function ranksOf(values: readonly number[]): number[] {
  const order = values.map((_, at) => at).toSorted((a, b) => values[a]! - values[b]!)
  const ranks = Array.from({ length: values.length }, () => 0)
  for (let from = 0; from < order.length;) {
    let to = from
    while (to < order.length && values[order[to]!] === values[order[from]!]) to++
    for (let at = from; at < to; at++) ranks[order[at]!] = (from + to - 1) / 2
    from = to
  }
  return ranks
}

function pearson(first: readonly number[], second: readonly number[]): number {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const [a, b] = [mean(first), mean(second)]
  let both = 0
  let own = 0
  let other = 0
  first.forEach((value, at) => {
    both += (value - a) * (second[at]! - b)
    own += (value - a) ** 2
    other += (second[at]! - b) ** 2
  })
  return both / Math.sqrt(own * other)
}
